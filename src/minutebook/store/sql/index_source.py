"""The rows that an index reads from the tables."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

from minutebook.domain.reason import Reason
from minutebook.domain.records import CLASSES, TEXT_CLASSES, Kind
from minutebook.search.text import terms
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Block, P
from minutebook.store.sidecar.index import Page
from minutebook.store.sidecar.vectors import VectorRows
from minutebook.store.sidecar.view import Witness
from minutebook.store.sidecar.words import Postings, packed
from minutebook.store.sql import change_feed, index_columns
from minutebook.store.sql.database import Connection, Row
from minutebook.store.sql.tables import DamagedRow, id_bytes, table_of, value_text
from minutebook.store.sql.vector_rows import check_rows

WORDS = 0
"""What stands for words where vectors have the number of their space, which begins at 1."""


class Key(NamedTuple):
    """The organization and kind of records; `space` is that of their vectors, or WORDS."""

    organization: int
    kind: Kind
    space: int


class Source(ABC, Generic[P]):
    """The records that belong in an index, as a connection sees them."""

    def __init__(self, connection: Connection, key: Key) -> None:
        self._connection = connection
        self._key = key
        self._table = table_of(CLASSES[key.kind])

    @abstractmethod
    def _selected(self) -> tuple[str, list[str], str]:
        """Return the condition on records that have a payload, the columns that it is made of, and a join that leads there."""

    def _page_size(self) -> int:
        """Return how many changes are read at once."""
        return sizes.PAGE

    @abstractmethod
    def _payload(self, rows: Sequence[Sequence[Any]]) -> P:
        """Make the payload of some records from those columns."""

    def sequence(self) -> int:
        """Return the sequence of the organization's latest change."""
        return change_feed.sequence(self._connection, self._key.organization)

    def unread(self, since: int) -> int:
        """Return how many changes, of any kind, came after a sequence."""
        return self.sequence() - since

    def knows(self, witness: Witness) -> bool:
        """Tell whether a record changed at that sequence or later."""
        id, sequence = witness
        number, kind, _ = self._key
        latest = self._connection.row(
            f"SELECT sequence FROM {self._table.name} WHERE organization = ? AND id = ?"  # noqa: S608
            " UNION ALL SELECT sequence FROM deletions"
            " WHERE organization = ? AND kind = ? AND id = ?",
            (number, id, number, kind, id),
        )
        return latest is not None and int(latest[0]) >= sequence

    def page(self, since: int) -> Page[P]:
        """Return the records that changed after a sequence, a bounded number of changes at a time."""
        # Statements may see what others commit in between: a page leads to what was the latest before it.
        # What changed again after that is in a later page, and until then in the index as it was.
        latest = self.sequence()
        found = self._changed(since, latest)
        is_last = len(found) < self._page_size()
        last = found[-1] if found else None
        return Page(
            sequence=last[0] if last and not is_last else latest,
            ids=[id_bytes(row[1]) for row in found],
            block=self._block([row for row in found if row[2]]),
            witness=(value_text(last[1]), last[0]) if last else None,
            is_last=is_last,
        )

    def _block(self, rows: list[Row]) -> Block[P] | None:
        """Return the index's block of records, None if there are none."""
        if not rows:
            return None
        start = 3 + len(index_columns.index_columns(self._table))
        members = ((row[1], row[3:start]) for row in rows)
        payload = self._payload([row[start:] for row in rows])
        return index_columns.block_of_rows(self._table, members, payload)

    def _changed(self, since: int, latest: int) -> list[Row]:
        """Return the first changes in a span: sequence, id, whether the record is in the index, its columns."""
        belongs, payload, joined = self._selected()
        columns = [*index_columns.index_columns(self._table), *payload]
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


class VectorSource(Source[VectorRows]):
    """The vectors of one space."""

    def __init__(self, connection: Connection, key: Key, dimensions: int) -> None:
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


class WordSource(Source[Postings]):
    """The terms of texts: those that stand in the row, else those of the text."""

    def _page_size(self) -> int:
        return sizes.TEXT_PAGE

    @property
    def _fields(self) -> list[str]:
        return self._table.fields.split(", ")

    def unread(self, since: int) -> int:
        """Return how many changes came after a sequence, of any kind, and one more for each ANALYSED bytes of the changed texts."""
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
