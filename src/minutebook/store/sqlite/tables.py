"""How SQLite keeps a text, and a Filter as the SQL that selects."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from minutebook.domain.filters import Filter
from minutebook.domain.records import Memory, Record
from minutebook.store.sql.tables import (
    Table,
    TextCodec,
    Value,
    described,
    microseconds,
    ordering,
    value_text,
)
from minutebook.store.sqlite.errors import damaged


def text_value(text: str) -> Value:
    """Return a text as SQLite keeps it: one with lone surrogates, which are no UTF-8, as bytes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def padded(values: Sequence[Value]) -> list[Value]:
    """Repeat the last of some values up to a power of two.

    A list of any length in a condition then makes few different statements, which stay prepared.
    """
    numbers = list(values)
    room = 1 << max(0, len(numbers) - 1).bit_length()
    return numbers + numbers[-1:] * (room - len(numbers))


LISTED = "SELECT CASE type WHEN 'array' THEN unhex(value ->> 0) ELSE value END FROM json_each({})"
"""Selects the texts of a `text_list`: of hundreds, cheaper to SQLite than as many parameters."""


def text_list(texts: Sequence[str]) -> str:
    """Return texts as JSON for `LISTED`; JSON has no bytes, so what is kept as bytes stands as [hex]."""
    kept = map(text_value, texts)
    return json.dumps([[each.hex()] if isinstance(each, bytes) else each for each in kept])


# Two objects are equal whatever the order of their keys, so their nodes are compared, not their texts.
_SAME_OBJECT = (
    "NOT EXISTS (SELECT fullkey, type, atom FROM json_tree(r.{name}) "
    "EXCEPT SELECT fullkey, type, atom FROM json_tree(?)) AND "
    "NOT EXISTS (SELECT fullkey, type, atom FROM json_tree(?) "
    "EXCEPT SELECT fullkey, type, atom FROM json_tree(r.{name}))"
)

Selection: TypeAlias = tuple[str, list[Value]]
"""A condition over the table `r`, and the values that it names by question marks."""


def selection(of: type[Record], where: Filter) -> Selection:
    """Write a Filter as a condition. Raises AttributeError if it names a field that the records lack."""
    table = table_of(of)
    conditions = ["r.organization = (SELECT number FROM organizations WHERE name = ?)"]
    values: list[Value] = [text_value(where.organization)]
    if "kind" in table.stored:
        conditions.append("r.kind = ?")
        values.append(of.kind)
    for name, allowed in (("repository", where.repositories), ("user", where.users)):
        if allowed is not None and name in table.columns:
            marks = ", ".join("?" * len(allowed))
            conditions.append(f"(r.{name} IS NULL OR r.{name} IN ({marks}))")
            values += map(text_value, sorted(allowed))
    if where.ids is not None:
        ids = padded([text_value(id) for id in sorted(where.ids)])
        conditions.append(f"r.id IN ({', '.join('?' * len(ids))})")
        values += ids
    for name, expected in where.equal.items():
        condition, named = _equal(table, of, where, name, expected)
        conditions.append(condition)
        values += named
    for name, start in where.starts.items():
        _check_has(table, of, name)
        # As text, so that bytes that are none (see text_value) are counted as characters too.
        conditions.append(f"lower(substr(CAST(r.{name} AS TEXT), 1, ?)) = lower(CAST(? AS TEXT))")
        values += (len(start), text_value(start))
    if where.client is not None:
        _check_has(table, of, "origin")
        conditions.append("lower(r.origin ->> 'client') = lower(CAST(? AS TEXT))")
        values.append(text_value(where.client))
    if of is Memory:
        for condition, instants in _times(where):
            conditions.append(condition)
            values += map(microseconds, instants)
    return " AND ".join(conditions), values


def _equal(
    table: Table, of: type[Record], where: Filter, name: str, expected: object
) -> tuple[str, Sequence[Value]]:
    if name == "organization":
        return "? = ?", (text_value(where.organization), text_value(str(expected)))
    _check_has(table, of, name)
    value = None if expected is None else table.stored[name].to_value(expected)
    if isinstance(expected, Mapping):
        return _SAME_OBJECT.format(name=name), (value, value)
    return f"r.{name} IS ?", (value,)


_HOLDS = "r.valid_from <= ? AND (r.valid_until IS NULL OR r.valid_until > ?)"


def _times(where: Filter) -> Iterator[tuple[str, Sequence[datetime]]]:
    """Yield the conditions on the times of a memory, each with its instants."""
    if (at := where.valid_at) is not None:
        yield _HOLDS, (at, at)
    if where.differs_between is not None:
        one, other = where.differs_between
        yield f"({_HOLDS}) <> ({_HOLDS})", (one, one, other, other)
    if where.since is not None:
        yield "r.ingestion_time >= ?", (where.since,)
    if where.until is not None:
        yield "r.ingestion_time < ?", (where.until,)
    if not where.with_deleted:
        yield "r.deleted_at IS NULL", ()


def _check_has(table: Table, of: type[Record], field: str) -> None:
    if field not in table.stored:
        raise AttributeError(f"a {of.kind} has no field {field!r}")


def order_by(table: Table, order: Sequence[str]) -> str:
    """Write an order as SQL, ended by the id."""
    return ", ".join(
        f"r.{name} {'DESC' if descends else 'ASC'}" for name, descends in ordering(table, order)
    )


ALL_TABLES = described(TextCodec(text_value, value_text), damaged)

_TABLE_OF = {record: table for table in ALL_TABLES for record in table.records}


def table_of(of: type[Record]) -> Table:
    """Return the table that keeps the records of a class."""
    return _TABLE_OF[of]
