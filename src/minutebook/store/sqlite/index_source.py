"""What an index reads from the tables, and a Filter as conditions on its columns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import CLASSES, TEXT_CLASSES, Kind, TextRecord
from minutebook.search.text import terms
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Block, P
from minutebook.store.sidecar.index import Page
from minutebook.store.sidecar.vectors import VectorRows
from minutebook.store.sidecar.view import Conditions, Witness
from minutebook.store.sidecar.words import Postings
from minutebook.store.sql import index_columns
from minutebook.store.sql.tables import id_bytes, value_text
from minutebook.store.sql.vector_rows import check_rows
from minutebook.store.sqlite import rows
from minutebook.store.sqlite.tables import table_of, text_value

WORDS = 0
"""What stands for words where vectors have the number of their space, which begins at 1."""


class _Selected(NamedTuple):
    columns: Sequence[str]
    belongs: str
    joined: str


class Key(NamedTuple):
    """Whose records of which kind; `space` is that of their vectors, or WORDS."""

    organization: int
    kind: Kind
    space: int


class Source(ABC, Generic[P]):
    """One snapshot of the records that belong in an index."""

    def __init__(self, connection: apsw.Connection, organization: int, kind: Kind) -> None:
        self._connection = connection
        self._organization = organization
        self._kind = kind
        self._table = table_of(CLASSES[kind])

    @abstractmethod
    def _selected(self) -> _Selected:
        """Return the columns that the payload is made of, and the condition on records that have one."""

    @abstractmethod
    def _page_size(self) -> int:
        """Return how many changes are read at once."""

    @abstractmethod
    def _payload(self, rows: Sequence[Sequence[Any]]) -> P:
        """Make the payload of some records from those columns."""

    def sequence(self) -> int:
        """Return the sequence of the organization's latest change."""
        latest: int | None = self._connection.execute(
            "SELECT sequence FROM organizations WHERE number = ?", (self._organization,)
        ).get
        return latest or 0

    def unread(self, since: int) -> int:
        """Return how many changes, of any kind, came after a sequence."""
        return self.sequence() - since

    def knows(self, witness: Witness) -> bool:
        """Tell whether a record changed at that sequence or later."""
        id, sequence = witness
        latest = self._connection.execute(
            f"SELECT sequence FROM {self._table.name}"  # noqa: S608
            " WHERE organization = ?1 AND id = ?3 UNION ALL SELECT sequence FROM deletions"
            " WHERE organization = ?1 AND kind = ?2 AND id = ?3",
            (self._organization, self._kind, text_value(id)),
        ).get
        return latest is not None and latest >= sequence

    def page(self, since: int) -> Page[P]:
        """Return the records that changed after a sequence, a bounded number of changes at a time."""
        table, selected = self._table, self._selected()
        of_index = index_columns.index_columns(table)
        columns = [*of_index, *selected.columns]
        found: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT r.sequence AS sequence, r.id, {selected.belongs}, {', '.join(columns)}"  # noqa: S608
            f" FROM {table.name} AS r {selected.joined}"
            " WHERE r.organization = ?1 AND r.sequence > ?3"
            f" UNION ALL SELECT sequence, id, 0{', NULL' * len(columns)}"
            " FROM deletions WHERE organization = ?1 AND kind = ?2 AND sequence > ?3"
            " ORDER BY 1 LIMIT ?4",
            (self._organization, self._kind, since, self._page_size()),
        ).fetchall()
        is_last = len(found) < self._page_size()
        last = found[-1] if found else None
        return Page(
            sequence=last[0] if last and not is_last else self.sequence(),
            ids=[id_bytes(row[1]) for row in found],
            block=self._block([row[1:] for row in found if row[2]], 2 + len(of_index)),
            witness=(value_text(last[1]), last[0]) if last else None,
            is_last=is_last,
        )

    def _block(self, found: list[tuple[Any, ...]], start: int) -> Block[P] | None:
        """Make a block of rows: id, belongs, the columns of every index, the payload's from `start`."""
        if not found:
            return None
        payload = self._payload([row[start:] for row in found])
        members = ((row[0], row[2:start]) for row in found)
        return index_columns.block_of_rows(self._table, members, payload)


class VectorSource(Source[VectorRows]):
    """The vectors of one space."""

    def __init__(self, connection: apsw.Connection, key: Key, dimensions: int) -> None:
        super().__init__(connection, key.organization, key.kind)
        self._space = key.space
        self._dimensions = dimensions

    def _selected(self) -> _Selected:
        joined = (
            f"LEFT JOIN {self._table.name}_vectors AS v"
            f" ON v.row = r.row AND r.space = {self._space}"
        )
        return _Selected(["v.vectors"], "v.vectors IS NOT NULL", joined)

    def _page_size(self) -> int:
        return sizes.PAGE

    def _payload(self, rows: Sequence[Sequence[Any]]) -> VectorRows:
        stored = [vectors for (vectors,) in rows]
        check_rows(stored, self._dimensions, self._table.name)
        return VectorRows.of_bytes(stored, self._dimensions)


class WordSource(Source[Postings]):
    """The terms of texts."""

    def _selected(self) -> _Selected:
        return _Selected(self._fields, "1", "")

    @property
    def _fields(self) -> list[str]:
        return self._table.fields.split(", ")

    def _page_size(self) -> int:
        return sizes.TEXT_PAGE

    def unread(self, since: int) -> int:
        """Return how many changes came after a sequence, of any kind, and one more for each ANALYSED bytes of the changed texts."""
        changes = super().unread(since)
        if not 0 < changes <= sizes.BEHIND:
            return changes
        sizes_of = " + ".join(f"coalesce(octet_length({each}), 0)" for each in self._fields)
        size: int | None = self._connection.execute(
            f"SELECT sum({sizes_of}) FROM {self._table.name} AS r"  # noqa: S608
            " WHERE r.organization = ? AND r.sequence > ?",
            (self._organization, since),
        ).get
        return changes + (size or 0) // sizes.ANALYSED

    def _payload(self, rows: Sequence[Sequence[Any]]) -> Postings:
        of = TEXT_CLASSES[self._kind]
        records = (self._table.record_of(of, "", row) for row in rows)
        return Postings.of_texts(terms(record.text) for record in records)


def conditions(connection: apsw.Connection, of: type[TextRecord], where: Filter) -> Conditions:
    """Write a Filter as conditions on columns of the index; what it lacks is asked by SQL."""
    return index_columns.conditions(
        table_of(of), where, lambda: rows.ids(connection, of, where, ())
    )
