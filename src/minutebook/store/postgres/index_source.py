"""What an index reads from the tables."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

from minutebook.domain.records import CLASSES, TEXT_CLASSES, Kind
from minutebook.search.text import ANALYSIS
from minutebook.store.postgres import change_feed
from minutebook.store.postgres.connections import Connection
from minutebook.store.postgres.errors import damaged
from minutebook.store.postgres.tables import packed_terms, table_of
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Block, P
from minutebook.store.sidecar.index import Page
from minutebook.store.sidecar.vectors import VectorRows
from minutebook.store.sidecar.view import Witness
from minutebook.store.sidecar.words import Postings
from minutebook.store.sql import index_columns
from minutebook.store.sql.index_columns import block_of_rows
from minutebook.store.sql.tables import id_bytes
from minutebook.store.sql.vector_rows import check_rows

WORDS = 0
"""What stands for words where vectors have the number of their space, which begins at 1."""


class Key(NamedTuple):
    """Whose records of which kind; `space` is that of their vectors, or WORDS."""

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
    def _selected(self) -> tuple[list[str], str]:
        """Return the columns that the payload is made of, and the condition on records that have one."""

    @abstractmethod
    def _page_size(self) -> int:
        """Return how many changes are read at once."""

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
        named = {"number": self._key.organization, "kind": self._key.kind, "id": id}
        latest = self._connection.execute(
            f"SELECT sequence FROM {self._table.name}"  # noqa: S608
            " WHERE organization = %(number)s AND id = %(id)s UNION ALL SELECT sequence FROM deletions"
            " WHERE organization = %(number)s AND kind = %(kind)s AND id = %(id)s",
            named,
        ).fetchone()
        return latest is not None and int(latest[0]) >= sequence

    def page(self, since: int) -> Page[P]:
        """Return the records that changed after a sequence, a bounded number of changes at a time."""
        # Statements see what others commit in between: a page leads to what was the latest before it.
        # What changed again after that is in a later page, and until then in the index as it was.
        latest = self.sequence()
        found = self._changed(since, latest)
        is_last = len(found) < self._page_size()
        last = found[-1] if found else None
        return Page(
            sequence=last[0] if last and not is_last else latest,
            ids=[id_bytes(row[1]) for row in found],
            block=self._block([row for row in found if row[2]]),
            witness=(last[1], last[0]) if last else None,
            is_last=is_last,
        )

    def _block(self, rows: list[tuple[Any, ...]]) -> Block[P] | None:
        """Return what the index keeps of records, None if there are none."""
        start = 3 + len(index_columns.index_columns(self._table))
        return (
            block_of_rows(
                self._table,
                ((row[1], row[3:start]) for row in rows),
                self._payload([row[start:] for row in rows]),
            )
            if rows
            else None
        )

    def _changed(self, since: int, latest: int) -> list[tuple[Any, ...]]:
        """Return the first changes in a span: sequence, id, whether the record is in the index, its columns."""
        payload, belongs = self._selected()
        columns = [*index_columns.index_columns(self._table), *payload]
        selects = (
            f"SELECT r.sequence, r.id, {belongs}, {', '.join(columns)} FROM {self._table.name} AS r"  # noqa: S608
            " WHERE r.organization = %(number)s AND r.sequence > %(since)s"
            " AND r.sequence <= %(latest)s",
            f"SELECT sequence, id, FALSE{', NULL' * len(columns)} FROM deletions"  # noqa: S608
            " WHERE organization = %(number)s AND kind = %(kind)s AND sequence > %(since)s"
            " AND sequence <= %(latest)s",
        )
        found: list[tuple[Any, ...]] = self._connection.execute(
            change_feed.first_of_each(selects, "%(limit)s"),
            {
                "number": self._key.organization,
                "kind": self._key.kind,
                "since": since,
                "latest": latest,
                "limit": self._page_size(),
            },
            binary=True,
        ).fetchall()
        return found


class VectorSource(Source[VectorRows]):
    """The vectors of one space."""

    def __init__(self, connection: Connection, key: Key, dimensions: int) -> None:
        super().__init__(connection, key)
        self._dimensions = dimensions

    def _selected(self) -> tuple[list[str], str]:
        space = self._key.space
        return [
            f"CASE WHEN r.space = {space} THEN r.vectors END"
        ], f"coalesce(r.space = {space}, FALSE)"

    def _page_size(self) -> int:
        return sizes.PAGE

    def _payload(self, rows: Sequence[Sequence[Any]]) -> VectorRows:
        stored = [vectors for (vectors,) in rows]
        check_rows(stored, self._dimensions, self._table.name)
        return VectorRows.of_bytes(stored, self._dimensions)


class WordSource(Source[Postings]):
    """The terms of texts: those that stand in the row, else those of the text."""

    def _selected(self) -> tuple[list[str], str]:
        is_analysed = f"r.analysis = {ANALYSIS}"
        fields = [
            f"CASE WHEN {is_analysed} THEN NULL ELSE {name} END"
            for name in self._table.fields.split(", ")
        ]
        return [f"CASE WHEN {is_analysed} THEN r.terms END", *fields], "TRUE"

    def _page_size(self) -> int:
        return sizes.TEXT_PAGE

    def _payload(self, rows: Sequence[Sequence[Any]]) -> Postings:
        of = TEXT_CLASSES[self._key.kind]
        kept_terms = [
            packed_terms(self._table.record_of(of, "", fields)) if kept is None else kept
            for kept, *fields in rows
        ]
        try:
            return Postings.of_packed(kept_terms)
        except ValueError as error:
            raise damaged(
                "the database is damaged: a row of {name} holds in terms what no such column can",
                name=self._table.name,
            ) from error
