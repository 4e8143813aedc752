"""The tables of PostgreSQL: what beside a record's columns is kept of it, and a Filter as SQL."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from minutebook.domain.filters import Filter, folded
from minutebook.domain.records import Memory, Record, TextRecord
from minutebook.search.text import ANALYSIS, terms
from minutebook.store.postgres.errors import damaged
from minutebook.store.sidecar.words import packed
from minutebook.store.sql.tables import Table, TextCodec, described, microseconds, ordering

Selection: TypeAlias = tuple[str, list[Any]]
"""A condition over the table `r`, and the values that it names by `%s`."""

SHORT = 200
"""How many characters of a text of any length stand in an index, whose rows have a largest size."""

CUT = frozenset({"name", "session", "subject", "target_key"})
"""The columns of which an index holds the first SHORT characters only."""

# The connection's adapters keep and read every text, so that a column has nothing to do.
ALL_TABLES = described(TextCodec(str, None), damaged)
_TABLE_OF = {record: table for table in ALL_TABLES for record in table.records}


def table_of(of: type[Record]) -> Table:
    """Return the table that keeps the records of a class."""
    return _TABLE_OF[of]


def quoted(name: str) -> str:
    """Return a column's name for where the name alone may be a word of SQL's."""
    return f'"{name}"'


def derived(table: Table) -> Mapping[str, Callable[[Any], Any]]:
    """Return the columns derived from a record, to be compared in SQL, each with the function that makes it."""
    makers: dict[str, Callable[[Any], Any]] = {}
    if table.has_text:
        makers["text_digest"] = _text_digest
        makers["terms"] = packed_terms
        makers["analysis"] = lambda record: ANALYSIS
    if "origin" in table.columns:
        makers["client"] = _client
    if Memory in table.records:
        makers["metadata_digest"] = lambda record: object_digest(record.metadata)
    return makers


def object_digest(value: object) -> bytes:
    """Return 16 bytes that two JSON objects share if they differ in the order of keys at most."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


_HOLDS = "r.valid_from <= %s AND (r.valid_until IS NULL OR r.valid_until > %s)"


def selection(number: int, of: type[Record], where: Filter) -> Selection:
    """Write a Filter as a condition on an organization's records, `number` being that of its name.

    Raises AttributeError if it names a field that the records lack.
    """
    table = table_of(of)
    conditions, values = ["r.organization = %s"], list[Any]([number])

    def add(condition: str, *named: Any) -> None:
        conditions.append(condition)
        values.extend(named)

    if "kind" in table.stored:
        add("r.kind = %s", of.kind)
    for name, allowed in (("repository", where.repositories), ("user", where.users)):
        if allowed is not None and name in table.columns:
            add(f"(r.{name} IS NULL OR r.{name} = ANY(%s))", sorted(allowed))
    if where.ids is not None:
        add("r.id = ANY(%s)", sorted(where.ids))
    for name, expected in where.equal.items():
        add(*_equal(table, of, where, name, expected))
    for name, start in where.starts.items():
        _check_has(table, of, name)
        start_folded = 'lower(%s::text COLLATE "C")'
        add(f"lower(substr(r.{name}, 1, length(%s::text))) = {start_folded}", start, start)
    if where.client is not None:
        _check_has(table, of, "origin")
        add("r.client = %s", folded(where.client))
    if of is Memory:
        if where.valid_at is not None:
            instant = microseconds(where.valid_at)
            add(_HOLDS, instant, instant)
        if where.differs_between is not None:
            one, other = map(microseconds, where.differs_between)
            add(f"({_HOLDS}) <> ({_HOLDS})", one, one, other, other)
        for limit, comparison in ((where.since, ">="), (where.until, "<")):
            if limit is not None:
                add(f"r.ingestion_time {comparison} %s", microseconds(limit))
        if not where.with_deleted:
            add("r.deleted_at IS NULL")
    return " AND ".join(conditions), values


def order_by(table: Table, order: Sequence[str]) -> str:
    """Write an order as SQL, ended by the id; NULL comes before every value."""
    return ", ".join(
        ordered(f"r.{name}", descends=descends, is_optional=table.columns[name].is_optional)
        for name, descends in ordering(table, order)
    )


def ordered(column: str, *, descends: bool = False, is_optional: bool = True) -> str:
    """Write one part of an order. What cannot be NULL says nothing of it, so that indices serve."""
    nulls = " NULLS LAST" if descends else " NULLS FIRST"
    return f"{column} {'DESC' if descends else 'ASC'}{nulls if is_optional else ''}"


def _equal(
    table: Table, of: type[Record], where: Filter, name: str, expected: object
) -> tuple[Any, ...]:
    """Write that a field has a value: the condition, then what it names."""
    if name == "organization":
        return ("TRUE" if str(expected) == where.organization else "FALSE",)
    _check_has(table, of, name)
    if expected is None:
        return (f"r.{name} IS NULL",)
    if isinstance(expected, Mapping):
        return f"r.{name}_digest = %s", object_digest(expected)
    value = table.stored[name].to_value(expected)
    if name in CUT:
        short = f"left(r.{name}, {SHORT}) = left(%s::text, {SHORT})"
        return f"{short} AND r.{name} = %s", value, value
    return f"r.{name} = %s", value


def _check_has(table: Table, of: type[Record], field: str) -> None:
    if field not in table.stored:
        raise AttributeError(f"a {of.kind} has no field {field!r}")


def packed_terms(record: TextRecord) -> bytes:
    """Return the terms of a record's text as an index of words reads them."""
    return packed(terms(record.text))


def _text_digest(record: TextRecord) -> bytes:
    text = record.text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()


def _client(record: Any) -> str | None:
    """Return the program that wrote a record first, A to Z as a to z; None if it is not known."""
    client: str = record.origin.client if record.origin is not None else ""
    return folded(client) or None
