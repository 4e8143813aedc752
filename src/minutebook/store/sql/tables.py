"""Records as rows: the table for each class of records, and the conversion of its fields to columns and back."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from minutebook.record.origin import Origin
from minutebook.record.reason import Reason
from minutebook.record.records import (
    CodeChunk,
    Decision,
    Edge,
    Entity,
    Entry,
    File,
    Head,
    LedgerMark,
    Link,
    Memory,
    Mention,
    Project,
    ProjectCommit,
    Proposal,
    Record,
    Relation,
    Summary,
    TextRecord,
    Token,
    Turn,
    Version,
)
from minutebook.store.values import R

Value: TypeAlias = str | bytes | int | float | None
"""A value in a column."""

_DAMAGE = (KeyError, TypeError, ValueError, OverflowError)
"""The errors of reading a column with an impossible value."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(instant: datetime) -> int:
    """Return an instant as whole microseconds since 1970, UTC."""
    return (instant - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """Return the instant that `microseconds` encoded."""
    return _EPOCH + timedelta(microseconds=value)


def id_bytes(value: Any) -> bytes:
    """Return an id as bytes, which sort as the id does; a column may hold text or bytes already."""
    return value if type(value) is bytes else str(value).encode("utf-8", "surrogatepass")


def value_text(value: Any) -> str:
    """Return the text of a column that holds text, or the bytes of one with lone surrogates."""
    return value.decode("utf-8", "surrogatepass") if type(value) is bytes else value


class DamagedRow(Exception):
    """A row holds an impossible value; an engine turns this into a StoreDamaged with the remedy."""

    def __init__(self, what: Reason) -> None:
        super().__init__(what)
        self.what = what


@dataclass(frozen=True, slots=True)
class Column:
    """A column for a field of a record, with the conversions from the field to a value and back."""

    name: str
    to_value: Callable[[Any], Value]
    from_value: Callable[[Any], Any] | None
    """None if the value needs no conversion."""
    is_optional: bool = False
    """Whether the field may be None, which is stored as NULL."""


@dataclass(frozen=True, slots=True)
class Table:
    """The table for records of some classes; its alias in statements is `r`."""

    name: str
    records: tuple[type[Record], ...]
    columns: Mapping[str, Column]
    stored: Mapping[str, Column]
    """The columns, and further ones that are derived from them: written and compared, but not read back."""
    has_text: bool
    _values_of: Callable[[Record], tuple[Any, ...]]
    _readers: tuple[Callable[[Any], Any] | None, ...] = field(init=False, repr=False)
    """The columns' `from_value`, collected once because reading rows takes most time."""

    def __post_init__(self) -> None:
        """Collect the readers of the columns."""
        readers = tuple(each.from_value for each in self.columns.values())
        object.__setattr__(self, "_readers", readers)

    @property
    def fields(self) -> str:
        """The columns that `record_of` reads, in order."""
        return ", ".join(f"r.{name}" for name in self.columns)

    def projection(self, names: Sequence[str]) -> "Projection":
        """Return the reader of some fields. Raises AttributeError if the records have no field of a name."""
        for name in names:
            check_has(self, self.columns, name)
        columns = tuple(self.columns[name] for name in names)
        return Projection(self, columns, [each.from_value for each in columns])

    def values(self, record: Record) -> list[Value]:
        """Return the values of a record's stored columns."""
        pairs = zip(self.stored.values(), self._values_of(record), strict=True)
        return [None if field is None else column.to_value(field) for column, field in pairs]

    def record_of(self, of: type[R], organization: str, values: Sequence[Any]) -> R:
        """Return the record in a row's columns. Raises DamagedRow if a column holds an impossible value."""
        try:
            read = _read(self._readers, values)
        except _DAMAGE as error:
            names, known = list(self.columns), _read_before_fault(self._readers, values)
            id = dict(zip(names, known, strict=False)).get("id")
            raise self.damage(self.columns[names[len(known)]], id) from error
        return of(organization=organization, **dict(zip(self.columns, read, strict=True)))

    def damage(self, column: Column, id: object) -> DamagedRow:
        """Return the error for a row with an impossible value in a column."""
        return DamagedRow(
            Reason(
                "the database is damaged: a row of {name} (id {id!r}) holds in {other} what no such column can",
                name=self.name,
                id=id,
                other=column.name,
            )
        )


Readers = Sequence[Callable[[Any], Any] | None]


def _read(readers: Readers, values: Sequence[Any]) -> list[Any]:
    """Return the fields of a record from the values of a row's columns."""
    return [
        value if reader is None or value is None else reader(value)
        for reader, value in zip(readers, values, strict=True)
    ]


def _read_before_fault(readers: Readers, values: Sequence[Any]) -> list[Any]:
    """Return the fields of a damaged row up to the one that cannot be read."""
    read: list[Any] = []
    with suppress(*_DAMAGE):
        for reader, value in zip(readers, values, strict=True):
            read += _read((reader,), (value,))
    return read


@dataclass(frozen=True, slots=True)
class Projection:
    """Some fields of the records of a table."""

    _table: Table
    _columns: tuple[Column, ...]
    _readers: Readers

    @property
    def columns(self) -> str:
        """The columns that `values_of` reads, in order."""
        return ", ".join(f"r.{column.name}" for column in self._columns)

    def values_of(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Return the fields of a row's columns."""
        try:
            return tuple(_read(self._readers, row))
        except _DAMAGE as error:
            known = _read_before_fault(self._readers, row)
            raise self._table.damage(self._columns[len(known)], None) from error


def ordering(table: Table, order: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the name of each column of an order, ended by the id, with whether it descends.

    Raises AttributeError if the records lack a field of it.
    """
    parts = [(field.removeprefix("-"), field.startswith("-")) for field in order]
    for name, _ in parts:
        check_has(table, table.columns, name)
    return [*parts, ("id", bool(parts) and parts[0][1])]


def check_has(table: Table, columns: Mapping[str, Column], name: str) -> None:
    """Raise AttributeError if a field is not among some columns of a table."""
    if name not in columns:
        raise AttributeError(f"{table.name} have no field {name!r}")


def _described(name: str, records: tuple[type[Record], ...], derived: Sequence[str]) -> Table:
    hints = get_type_hints(records[0])
    names = [f.name for f in fields(records[0]) if f.name != "organization"]
    columns = {
        name: Column(name, *_codec(hints[name]), _is_optional(hints[name])) for name in names
    }
    stored = columns | {name: Column(name, str, value_text) for name in derived}
    has_text = issubclass(records[0], TextRecord)
    return Table(name, records, columns, stored, has_text, attrgetter(*stored))


def _codec(annotation: Any) -> tuple[Callable[[Any], Value], Callable[[Any], Any] | None]:
    """Return the functions that convert a field of an annotated type to a value and back; None for the latter: not needed."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not NoneType)
    origin = get_origin(annotation) or annotation
    if origin is datetime:
        return microseconds, instant
    if issubclass(origin, StrEnum):
        return str, {str(member): member for member in origin}.__getitem__
    if issubclass(origin, str):
        return str, value_text
    if issubclass(origin, float):
        return float, None
    if issubclass(origin, int):
        return int, None
    if issubclass(origin, tuple):
        return _json, lambda value: () if value == "[]" else tuple(json.loads(value))
    if issubclass(origin, Mapping):
        return _json, lambda value: {} if value == "{}" else json.loads(value)
    if issubclass(origin, Origin):
        return lambda value: _json(value.parts), _origin
    raise TypeError(f"no column can hold {annotation!r}")


def _is_optional(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType) and NoneType in get_args(annotation)


@lru_cache(maxsize=1024)
def _origin(value: str) -> Origin:
    return Origin.from_parts(json.loads(value))


def _json(value: Any) -> str:
    # In ASCII, so that lone surrogates are kept as escapes. Keys stay in their order.
    return json.dumps(value, separators=(",", ":"))


_TABLES: tuple[tuple[str, tuple[type[Record], ...], tuple[str, ...]], ...] = (
    ("memories", (Memory,), ()),
    ("entities", (Entity,), ()),
    ("versions", (Version,), ()),
    (
        "edges",
        (Relation, Link, Mention),
        ("kind",),
    ),
    ("entries", (Entry,), ()),
    ("heads", (Head,), ()),
    ("projects", (Project,), ()),
    ("files", (File,), ()),
    ("chunks", (CodeChunk,), ()),
    ("commits", (ProjectCommit,), ()),
    ("decisions", (Decision,), ("target_key",)),
    ("proposals", (Proposal,), ()),
    ("ledgers", (LedgerMark,), ()),
    ("tokens", (Token,), ()),
    ("turns", (Turn,), ()),
    ("summaries", (Summary,), ()),
)


GOES_WITH: dict[type[Record], tuple[tuple[type[Record], str], ...]] = {
    Memory: ((Version, "memory"), (Link, "source"), (Link, "target"), (Mention, "source")),
    Entity: ((Relation, "source"), (Relation, "target"), (Mention, "target")),
}
"""The classes of records that are removed with a memory or an entity, and the field of each that names it."""

EDGE_CLASSES: dict[str, type[Edge]] = {each.kind: each for each in (Relation, Link, Mention)}


def edge_class(kind: str) -> type[Edge]:
    """Return the class of edges of a kind. Raises DamagedRow if there is no such class."""
    if kind not in EDGE_CLASSES:
        raise DamagedRow(
            Reason("the database is damaged: an edge has the kind {kind!r}", kind=kind)
        )
    return EDGE_CLASSES[kind]


ALL_TABLES = tuple(_described(*each) for each in _TABLES)

_TABLE_OF = {record: table for table in ALL_TABLES for record in table.records}


def table_of(of: type[Record]) -> Table:
    """Return the table that keeps the records of a class."""
    return _TABLE_OF[of]
