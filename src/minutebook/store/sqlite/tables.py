"""Records as rows: what each kind's table holds, and the SQL that selects from it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from minutebook.domain.filters import Filter
from minutebook.domain.origin import Origin
from minutebook.domain.records import (
    CodeChunk,
    Decision,
    Entity,
    Entry,
    File,
    Head,
    LedgerMark,
    Link,
    Memory,
    Mention,
    Project,
    Proposal,
    Record,
    Relation,
    Summary,
    TextRecord,
    Token,
    Turn,
    Version,
)
from minutebook.store.protocol import R
from minutebook.store.sqlite.errors import damaged

Value: TypeAlias = str | bytes | int | float | None
"""What a column holds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(instant: datetime) -> int:
    """Give an instant as whole microseconds since 1970, UTC."""
    return (instant - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """Give the instant that `microseconds` counted."""
    return _EPOCH + timedelta(microseconds=value)


def text_value(text: str) -> Value:
    """Give a text as SQLite keeps it: one with lone surrogates, which are no UTF-8, as bytes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def value_text(value: Any) -> str:
    """Give the text that `text_value` kept."""
    return value.decode("utf-8", "surrogatepass") if type(value) is bytes else value


def id_bytes(value: Any) -> bytes:
    """Give the bytes of a text that `text_value` kept; they sort as the text does."""
    return value if type(value) is bytes else str(value).encode()


@dataclass(frozen=True, slots=True)
class _Column:
    """A field of a record, and how it becomes a value and a value becomes it."""

    name: str
    to_value: Callable[[Any], Value]
    from_value: Callable[[Any], Any] | None
    """None where the value is the field as it stands."""


@dataclass(frozen=True, slots=True)
class Table:
    """Where the records of some classes are kept; `r` is its name inside each statement."""

    name: str
    records: tuple[type[Record], ...]
    columns: Mapping[str, _Column]
    stored: Mapping[str, _Column]
    """The columns, and those that are made of them: written and compared, but not read back."""
    has_text: bool
    _values_of: Callable[[Record], tuple[Any, ...]]

    @property
    def fields(self) -> str:
        """The columns that `record_of` reads, in order."""
        return ", ".join(f"r.{name}" for name in self.columns)

    def values(self, record: Record) -> list[Value]:
        """Give the values of a record's stored columns."""
        pairs = zip(self.stored.values(), self._values_of(record), strict=True)
        return [None if field is None else column.to_value(field) for column, field in pairs]

    def record_of(self, of: type[R], organization: str, values: Sequence[Any]) -> R:
        """Make the record of a row's columns."""
        read: dict[str, Any] = {"organization": organization}
        try:
            for column, value in zip(self.columns.values(), values, strict=True):
                from_value = column.from_value
                if value is not None and from_value is not None:
                    value = from_value(value)
                read[column.name] = value
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            name = read.get("id")
            raise damaged(
                f"the database is damaged: a row of {self.name} (id {name!r}) holds in "
                f"{column.name} what no such column can"
            ) from error
        return of(**read)


def padded(values: Sequence[Value]) -> list[Value]:
    """Repeat the last of some values up to a power of two.

    A list of any length in a condition then makes few different statements, which stay prepared.
    """
    kept = list(values)
    room = 1 << max(0, len(kept) - 1).bit_length()
    return kept + kept[-1:] * (room - len(kept))


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
    for name, wanted in where.equal.items():
        if name == "organization":
            conditions.append("? = ?")
            values += (text_value(where.organization), text_value(str(wanted)))
            continue
        _check_has(table, of, name)
        value = None if wanted is None else table.stored[name].to_value(wanted)
        if isinstance(wanted, Mapping):
            conditions.append(_SAME_OBJECT.format(name=name))
            values += (value, value)
        else:
            conditions.append(f"r.{name} IS ?")
            values.append(value)
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
        if where.valid_at is not None:
            conditions.append("r.valid_from <= ? AND (r.valid_until IS NULL OR r.valid_until > ?)")
            values += [microseconds(where.valid_at)] * 2
        for instant, comparison in ((where.since, ">="), (where.until, "<")):
            if instant is not None:
                conditions.append(f"r.ingestion_time {comparison} ?")
                values.append(microseconds(instant))
        if not where.with_deleted:
            conditions.append("r.deleted_at IS NULL")
    return " AND ".join(conditions), values


def _check_has(table: Table, of: type[Record], field: str) -> None:
    if field not in table.stored:
        raise AttributeError(f"a {of.kind} has no field {field!r}")


def order_by(table: Table, order: Sequence[str]) -> str:
    """Write an order as SQL, ended by the id."""
    direction = "DESC" if order and order[0].startswith("-") else "ASC"
    parts = []
    for field in order:
        name = field.removeprefix("-")
        if name not in table.columns:
            raise AttributeError(f"{table.name} have no field {name!r}")
        parts.append(f"r.{name} {'DESC' if field.startswith('-') else 'ASC'}")
    return ", ".join([*parts, f"r.id {direction}"])


def _described(name: str, *records: type[Record], derived: Sequence[str] = ()) -> Table:
    hints = get_type_hints(records[0])
    names = [f.name for f in fields(records[0]) if f.name != "organization"]
    columns = {name: _Column(name, *_codec(hints[name])) for name in names}
    stored = columns | {name: _Column(name, text_value, value_text) for name in derived}
    has_text = issubclass(records[0], TextRecord)
    return Table(name, records, columns, stored, has_text, attrgetter(*stored))


def _codec(annotation: Any) -> tuple[Callable[[Any], Value], Callable[[Any], Any] | None]:
    """Choose how values of an annotated type are kept; None is kept as NULL whatever the type."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not NoneType)
    origin = get_origin(annotation) or annotation
    if origin is datetime:
        return microseconds, instant
    if issubclass(origin, StrEnum):
        return text_value, {str(member): member for member in origin}.__getitem__
    if issubclass(origin, str):
        return text_value, value_text
    if issubclass(origin, float):
        return float, None
    if issubclass(origin, int):
        return int, None
    if issubclass(origin, tuple):
        return _json, lambda value: () if value == "[]" else tuple(json.loads(value))
    if issubclass(origin, Mapping):
        return _json, json.loads
    if issubclass(origin, Origin):
        return lambda value: _json(value.parts), lambda value: Origin.of(json.loads(value))
    raise TypeError(f"no column can hold {annotation!r}")


def _json(value: Any) -> str:
    # In ASCII, so that lone surrogates survive as escapes; the keys of an object in their order.
    return json.dumps(value, separators=(",", ":"))


ALL_TABLES = (
    _described("memories", Memory),
    _described("entities", Entity),
    _described("versions", Version),
    _described("edges", Relation, Link, Mention, derived=["kind"]),
    _described("entries", Entry),
    _described("heads", Head),
    _described("projects", Project),
    _described("files", File),
    _described("chunks", CodeChunk),
    _described("decisions", Decision, derived=["target_key"]),
    _described("proposals", Proposal),
    _described("ledgers", LedgerMark),
    _described("tokens", Token),
    _described("turns", Turn),
    _described("summaries", Summary),
)

_TABLE_OF = {record: table for table in ALL_TABLES for record in table.records}


def table_of(of: type[Record]) -> Table:
    """Return the table that keeps the records of a class."""
    return _TABLE_OF[of]
