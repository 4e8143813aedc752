"""Filters and orders as SQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minutebook.record.filters import KEPT_AT, Filter
from minutebook.record.records import Memory, Record
from minutebook.store.sql.database import Condition, Connection
from minutebook.store.sql.tables import Table, check_has, microseconds, ordering, table_of


def selection(
    connection: Connection, number: int | None, of: type[Record], where: Filter
) -> Condition:
    """Return the condition for a Filter on records `r` of the organization with this number.

    Raises AttributeError if it names a field that the records lack.
    """
    table = table_of(of)
    parts, values = ["r.organization = ?"], list[Any]([number])
    if "kind" in table.stored:
        parts.append("r.kind = ?")
        values.append(of.kind)
    for condition, named in _optional_conditions(connection, table, of, where):
        parts.append(condition)
        values += named
    if of is Memory and not where.with_deleted:
        parts.append("r.deleted_at IS NULL")
    return " AND ".join(parts), values


def _optional_conditions(
    connection: Connection, table: Table, of: type[Record], where: Filter
) -> Iterator[Condition]:
    """Yield the conditions of those parts of a Filter that are set."""
    if where.repositories is not None or where.users is not None:
        for name, allowed in (("repository", where.repositories), ("user", where.users)):
            if allowed is not None and name in table.columns:
                condition, named = connection.among(f"r.{name}", sorted(allowed))
                yield f"(r.{name} IS NULL OR {condition})", named
    if where.ids is not None:
        yield connection.among("r.id", sorted(where.ids))
    for name, expected in where.equal.items():
        yield _equal(connection, of, where, name, expected)
    for name, start in where.starts.items():
        check_has(table, table.stored, name)
        yield connection.starts(name, start)
    if where.client is not None:
        check_has(table, table.stored, "origin")
        yield connection.has_client(where.client)
    if of is Memory:
        yield from _validity_conditions(where)
    if (kept := KEPT_AT.get(of)) is not None:
        for sign, instant in ((">=", where.since), ("<", where.until)):
            if instant is not None:
                yield f"r.{kept} {sign} ?", (microseconds(instant),)


def _equal(
    connection: Connection, of: type[Record], where: Filter, name: str, expected: object
) -> Condition:
    if name == "organization":
        return "TRUE" if str(expected) == where.organization else "FALSE", ()
    table = table_of(of)
    check_has(table, table.stored, name)
    if expected is None:
        return f"r.{name} IS NULL", ()
    if isinstance(expected, Mapping):
        return connection.has_object(name, expected)
    return connection.equals(name, table.stored[name].to_value(expected))


_HOLDS = "r.valid_from <= ? AND (r.valid_until IS NULL OR r.valid_until > ?)"


def _validity_conditions(where: Filter) -> Iterator[Condition]:
    """Yield the conditions on the times at which a memory holds."""
    if where.valid_at is not None:
        instant = microseconds(where.valid_at)
        yield _HOLDS, (instant, instant)
    if where.differs_between is not None:
        one, other = map(microseconds, where.differs_between)
        yield f"({_HOLDS}) <> ({_HOLDS})", (one, one, other, other)


def order_by(table: Table, order: Sequence[str]) -> str:
    """Return an order as SQL, ended by the id; NULL comes before every value."""
    return ", ".join(
        ordered(f"r.{name}", descends=descends, is_optional=table.columns[name].is_optional)
        for name, descends in ordering(table, order)
    )


def ordered(column: str, *, descends: bool = False, is_optional: bool = True) -> str:
    """Return one part of an order as SQL. A column that cannot be NULL has no NULLS clause, so that indices can be used."""
    nulls = " NULLS LAST" if descends else " NULLS FIRST"
    return f"{column} {'DESC' if descends else 'ASC'}{nulls if is_optional else ''}"
