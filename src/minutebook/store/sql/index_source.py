"""The rows from which an index is made: its columns, and its payload of vectors or words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple

from minutebook.record.errors import InvalidInput
from minutebook.record.filters import KEPT_AT, Filter, folded
from minutebook.record.reason import Reason
from minutebook.record.records import CLASSES, TEXT_CLASSES, Kind, Memory
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import ALWAYS, NEVER, Block, P, block_of
from minutebook.store.sidecar.index import ChangedRecords
from minutebook.store.sidecar.vectors import VectorRows
from minutebook.store.sidecar.view import ColumnConditions, Witness
from minutebook.store.sidecar.words import Postings, packed
from minutebook.store.sql.database import Connection, Row
from minutebook.store.sql.embeddings import check_rows
from minutebook.store.sql.tables import (
    DamagedRow,
    Table,
    id_bytes,
    microseconds,
    table_of,
    value_text,
)
from minutebook.text.words import terms

_FACETS = (
    "repository",
    "user",
    "scope",
    "type",
    "status",
    "author",
    "project",
    "language",
    "session",
    "category",
)

CLIENT = "client"
"""The name of the facet with the program that wrote a record first, which is read from `origin`."""

LONGEST_ID = 200


def check_id(id: str) -> None:
    """Raise InvalidInput if the fixed-width columns of an index cannot hold an id."""
    if not 0 < len(id_bytes(id)) <= LONGEST_ID or "\0" in id:
        raise InvalidInput("id", "must have 1 to {most} bytes and no NUL", most=LONGEST_ID)


def facets(table: Table) -> dict[str, str]:
    """Return the facets that an index keeps, and by each the column that it is read from: fields of few values, and the client."""
    known = {name: name for name in _FACETS if name in table.columns}
    return known | ({CLIENT: "origin"} if "origin" in table.columns else {})


def index_columns(table: Table) -> list[str]:
    """Return the columns that an index reads of each record: valid from, valid until, kept since, hidden, then the facets."""
    kept = _kept_at(table)
    times: Sequence[str] = (f"{ALWAYS}", f"{NEVER}", f"r.{kept}" if kept else f"{ALWAYS}", "0")
    if Memory in table.records:
        until = f"coalesce(r.valid_until, {NEVER})"
        times = "r.valid_from", until, times[2], "r.deleted_at IS NOT NULL"
    return [*times, *(f"r.{column}" for column in facets(table).values())]


def block_of_rows(table: Table, found: Iterable[tuple[Any, Sequence[Any]]], payload: P) -> Block[P]:
    """Return the block of some records, at least one; `found` has the id and the values of `index_columns` of each."""
    ids, rows = zip(*found, strict=True)
    valid_from, valid_until, kept, hidden, *columns = zip(*rows, strict=True)
    return block_of(
        ids=[id_bytes(id) for id in ids],
        valid_from=valid_from,
        valid_until=valid_until,
        kept=kept,
        hidden=hidden,
        facets={
            name: _clients(table, column) if name == CLIENT else _texts(column)
            for name, column in zip(facets(table), columns, strict=True)
        },
        payload=payload,
    )


def conditions(
    table: Table, where: Filter, selected: Callable[[], Collection[str]]
) -> ColumnConditions:
    """Return a Filter as conditions on the columns of an index; `selected` returns the ids if those cannot express it."""
    known = facets(table)
    allowed: list[tuple[str, Collection[str | None]]] = [
        (name, {None, *values})
        for name, values in (("repository", where.repositories), ("user", where.users))
        if values is not None and name in known
    ]
    allowed += [
        (name, {None if value is None else str(value)})
        for name, value in where.equal.items()
        if name in known and name != CLIENT
    ]
    if where.client is not None and CLIENT in known:
        allowed.append((CLIENT, {folded(where.client)} - {""}))
    ids: Collection[str] | None = where.ids if columns_suffice(table, where) else selected()
    times: dict[str, Any] = {}
    if _kept_at(table) is not None:
        times = {name: _microseconds(getattr(where, name)) for name in ("since", "until")}
    if Memory in table.records:
        times["valid_at"] = _microseconds(where.valid_at)
        if where.differs_between is not None:
            one, other = where.differs_between
            times["differs_between"] = microseconds(one), microseconds(other)
    return ColumnConditions(
        facets=allowed,
        with_hidden=where.with_deleted,
        ids=None if ids is None else {id_bytes(id) for id in ids},
        **times,
    )


def _kept_at(table: Table) -> str | None:
    """Return the column with the instant since which a record is kept; None if there is none."""
    return next((KEPT_AT[of] for of in table.records if of in KEPT_AT), None)


def columns_suffice(table: Table, where: Filter) -> bool:
    """Tell whether the columns of an index express all conditions of a Filter."""
    known = facets(table)
    return (
        not where.starts
        and (where.client is None or CLIENT in known)
        and all(name in known and name != CLIENT for name in where.equal)
    )


def columns_are_quicker(table: Table, where: Filter) -> bool:
    """Tell whether the columns of an index answer a Filter, and quicker than SQL: not if it names records."""
    return where.ids is None and columns_suffice(table, where)


def is_by_id(order: Sequence[str]) -> bool:
    """Tell whether an order is by id, ascending or descending."""
    return ",".join(order) in ("", "id", "-id")


def _texts(column: Sequence[Any]) -> list[str | None]:
    return [None if value is None else value_text(value) for value in column]


def _clients(table: Table, column: Sequence[Any]) -> list[str | None]:
    """Return the clients in a column of origins, in lower case (ASCII); None if unknown."""
    origin = table.projection(["origin"])
    clients: dict[Any, str | None] = {None: None}
    for value in column:
        if value not in clients:
            (read,) = origin.values_of([value])
            clients[value] = folded(read.client) or None
    return [clients[value] for value in column]


def _microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else microseconds(instant)


WORDS = 0
"""The `space` of an index of words; numbers of vector spaces begin at 1."""


class IndexKey(NamedTuple):
    """The organization and kind of records; `space` is that of their vectors, or WORDS."""

    organization: int
    kind: Kind
    space: int


class IndexRecords(ABC, Generic[P]):
    """The records that belong in an index, as a connection sees them."""

    def __init__(self, connection: Connection, key: IndexKey) -> None:
        self._connection = connection
        self._key = key
        self._table = table_of(CLASSES[key.kind])

    @abstractmethod
    def _selected(self) -> tuple[str, list[str], str]:
        """Return the condition for records with a payload, the columns from which it is made, and the join to them."""

    def _page_size(self) -> int:
        """Return the number of changes that are read at once."""
        return sizes.PAGE

    @abstractmethod
    def _payload(self, rows: Sequence[Sequence[Any]]) -> P:
        """Return the payload of some records, from the columns that `_selected` names."""

    def sequence(self) -> int:
        """Return the sequence of the organization's latest change."""
        return self._connection.sequence(self._key.organization)

    def unread(self, since: int) -> int:
        """Return the number of changes, of any kind, after a sequence."""
        return self.sequence() - since

    def knows(self, witness: Witness) -> bool:
        """Tell whether the witness is true: its record changed at that sequence or later. If not, the index is of another store."""
        id, sequence = witness
        number, kind, _ = self._key
        latest = self._connection.row(
            f"SELECT sequence FROM {self._table.name} WHERE organization = ? AND id = ?"  # noqa: S608
            " UNION ALL SELECT sequence FROM deletions"
            " WHERE organization = ? AND kind = ? AND id = ?",
            (number, id, number, kind, id),
        )
        return latest is not None and int(latest[0]) >= sequence

    def page(self, since: int) -> ChangedRecords[P]:
        """Return the records of the first changes after a sequence, at most as many as a page holds."""
        # Another process may commit between two statements, so a page ends at the sequence that was the latest before it.
        # A record that changes after that is in a later page, and until then in the index as it was.
        latest = self.sequence()
        found = self._changed(since, latest)
        is_last = len(found) < self._page_size()
        last = found[-1] if found else None
        return ChangedRecords(
            sequence=last[0] if last and not is_last else latest,
            ids=[id_bytes(row[1]) for row in found],
            block=self._block([row for row in found if row[2]]),
            witness=(value_text(last[1]), last[0]) if last else None,
            is_last=is_last,
        )

    def _block(self, rows: list[Row]) -> Block[P] | None:
        """Return the block of rows from `_changed`; None if there are none."""
        if not rows:
            return None
        start = 3 + len(index_columns(self._table))
        members = ((row[1], row[3:start]) for row in rows)
        payload = self._payload([row[start:] for row in rows])
        return block_of_rows(self._table, members, payload)

    def _changed(self, since: int, latest: int) -> list[Row]:
        """Return the first changes after `since` up to `latest`: sequence, id, whether the record has a payload, its columns."""
        belongs, payload, joined = self._selected()
        columns = [*index_columns(self._table), *payload]
        number, kind, _ = self._key
        selects = (
            f"SELECT r.sequence AS sequence, r.id, {belongs}, {', '.join(columns)} FROM {self._table.name} AS r"  # noqa: S608
            f" {joined} WHERE r.organization = ? AND r.sequence > ? AND r.sequence <= ?",
            f"SELECT sequence, id, FALSE{', NULL' * len(columns)} FROM deletions"  # noqa: S608
            " WHERE organization = ? AND kind = ? AND sequence > ? AND sequence <= ?",
        )
        return self._connection.rows(
            self._connection.first_of(selects, "sequence", self._page_size()),
            (number, since, latest, number, kind, since, latest),
            binary=True,
        )


class VectorSource(IndexRecords[VectorRows]):
    """The vectors of one space."""

    def __init__(self, connection: Connection, key: IndexKey, dimensions: int) -> None:
        super().__init__(connection, key)
        self._dimensions = dimensions

    def _selected(self) -> tuple[str, list[str], str]:
        column, joined = self._connection.vectors
        is_of_space = f"coalesce(r.space = {self._key.space} AND {column} IS NOT NULL, FALSE)"
        columns = [f"CASE WHEN r.space = {self._key.space} THEN {column} END"]
        return is_of_space, columns, f"{joined and 'LEFT '}{joined}".format(self._table.name)

    def _payload(self, rows: Sequence[Sequence[Any]]) -> VectorRows:
        stored = [vectors for (vectors,) in rows]
        check_rows(stored, self._dimensions, self._table.name)
        return VectorRows.of_bytes(stored, self._dimensions)


class WordSource(IndexRecords[Postings]):
    """The terms of texts: those that are stored in the row, else computed from the text."""

    def _page_size(self) -> int:
        return sizes.TEXT_PAGE

    @property
    def _fields(self) -> list[str]:
        return self._table.fields.split(", ")

    def unread(self, since: int) -> int:
        """Return the number of changes after a sequence, plus one for each `sizes.ANALYSED` bytes of text to be analysed."""
        changes = super().unread(since)
        if not 0 < changes <= sizes.BEHIND or self._connection.kept_terms is not None:
            return changes
        bytes = " + ".join(f"coalesce(octet_length({each}), 0)" for each in self._fields)
        ((size,),) = self._connection.rows(
            f"SELECT sum({bytes}) FROM {self._table.name} AS r"  # noqa: S608
            " WHERE r.organization = ? AND r.sequence > ?",
            (self._key.organization, since),
        )
        return changes + int(size or 0) // sizes.ANALYSED

    def _selected(self) -> tuple[str, list[str], str]:
        if (are_kept := self._connection.kept_terms) is None:
            return "TRUE", self._fields, ""
        fields = [f"CASE WHEN {are_kept} THEN NULL ELSE {name} END" for name in self._fields]
        return "TRUE", [f"CASE WHEN {are_kept} THEN r.terms END", *fields], ""

    def _payload(self, rows: Sequence[Sequence[Any]]) -> Postings:
        if self._connection.kept_terms is None:
            return Postings.of_texts(self._terms(fields) for fields in rows)
        kept = [
            packed(self._terms(fields)) if kept_terms is None else kept_terms
            for kept_terms, *fields in rows
        ]
        try:
            return Postings.of_packed(kept)
        except ValueError as error:
            raise DamagedRow(
                Reason(
                    "the database is damaged: a row of {name} holds in terms what no such column can",
                    name=self._table.name,
                )
            ) from error

    def _terms(self, fields: Sequence[Any]) -> list[str]:
        return terms(self._table.record_of(TEXT_CLASSES[self._key.kind], "", fields).text)
