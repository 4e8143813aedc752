"""The open indices of vectors and words, by organization, kind and space."""

import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minutebook.record.filters import Filter
from minutebook.record.reason import count_of
from minutebook.record.records import TEXT_CLASSES, Record, TextRecord
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sidecar.index import Index
from minutebook.store.sidecar.open_indices import OpenIndices
from minutebook.store.sidecar.vectors import VectorRows, nearest, rows_of
from minutebook.store.sidecar.view import ColumnConditions, IndexView, Layer
from minutebook.store.sidecar.words import Postings, term_checksums
from minutebook.store.sql import change_feed, index_source, rows
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.embeddings import Spaces
from minutebook.store.sql.index_source import (
    WORDS,
    IndexKey,
    IndexRecords,
    VectorSource,
    WordSource,
)
from minutebook.store.sql.tables import id_bytes, table_of, value_text
from minutebook.store.values import Candidate, Vectors, VectorSpace
from minutebook.text.words import ANALYSIS


class Indices:
    """Opens each index when it is first asked for; an index answers as of the store's latest change."""

    def __init__(
        self, folder: Path, database: Database, spaces: Spaces, want_saving: Callable[[], None]
    ) -> None:
        self.folder = folder
        self.stopping = threading.Event()
        self._database = database
        self._spaces = spaces
        self._want_saving = want_saving
        self._open = OpenIndices[IndexKey]()
        self._guard = threading.Lock()
        self._wanted: set[IndexKey] = set()
        self._behind: set[IndexKey] = set()

    def nearest(
        self,
        number: int,
        of: type[TextRecord],
        where: Filter,
        space: VectorSpace,
        vector: Vectors,
        limit: int,
        also: Collection[str],
    ) -> list[Candidate]:
        """Rank the selected records by cosine, as the thread sees them."""
        in_space = self._spaces.number_of(space)
        if in_space is None:
            return []
        asked = self.conditions(number, of, where)
        view: IndexView[VectorRows] = self.view(IndexKey(number, of.kind, in_space))
        named = {id_bytes(id) for id in also}
        return nearest(view, asked, vector.astype(np.float32), limit, named)

    def words(self, number: int, of: type[TextRecord]) -> IndexView[Postings]:
        """Return the index of the words of an organization's records of a kind, as the thread sees them."""
        return self.view(IndexKey(number, of.kind, WORDS))

    def prompt_words(self, number: int, of: type[TextRecord]) -> IndexView[Postings] | None:
        """Return the index of words as of the latest commit; None if it lacks many changes, which are then read in the background."""
        key = IndexKey(number, of.kind, WORDS)
        index = self._index(key)
        if index.behind() <= sizes.BEHIND:
            return index.current()
        with self._guard:
            self._behind.add(key)
        self._want_saving()
        return None

    def with_first_ids(
        self, number: int, of: type[Record], where: Filter, order: Sequence[str], needed: int
    ) -> Filter:
        """Return the Filter with the ids of the `needed` first records added, if the index finds them quicker than SQL."""
        columns = self.columns(number, of, where)
        first = None if columns is None else columns.first(order, needed)
        return where if first is None else replace(where, ids=frozenset(first))

    def columns(
        self, number: int, of: type[Record], where: Filter, in_space: int = WORDS
    ) -> Columns | None:
        """Return the columns of an index, of words or of a space's vectors, that tell which records a Filter selects.

        Returns None if the database has to be asked: the columns do not express the Filter, it names records, or
        the records are few.
        """
        if (
            not issubclass(of, TextRecord)
            or self._database.is_writing
            or not index_source.columns_are_quicker(table_of(of), where)
            or not self.is_large(number, of)
        ):
            return None
        with self._database.reading() as connection:
            latest = connection.sequence(number)
        view = self._index(IndexKey(number, of.kind, in_space)).if_large(latest)
        return None if view is None else Columns(view, self.conditions(number, of, where))

    def conditions(self, number: int, of: type[TextRecord], where: Filter) -> ColumnConditions:
        """Return a Filter as conditions on columns of the index; SQL finds the ids if those cannot express it."""

        def selected() -> list[str]:
            with self._database.reading() as connection:
                return rows.ids(connection, number, of, where)

        return index_source.conditions(table_of(of), where, selected)

    def is_large(self, number: int, of: type[TextRecord]) -> bool:
        """Tell whether an organization has so many records of a kind that they have an index of words."""
        return True

    def keep_up(self) -> None:
        """Read the changes that searches did not wait for, until `stopping` is set, then save indices with much unsaved."""
        with self._guard:
            behind, self._behind = self._behind, set()
        for index in filter(None, map(self._open.get, sorted(behind))):
            self._read_on(index)
        self.save()

    def warm(self) -> None:
        """Bring the indices of many records up to date, until `stopping` is set, then save them."""
        for of in TEXT_CLASSES.values():
            with self._database.committed() as connection:
                found = connection.rows(
                    f"SELECT organization, max(space) FROM {table_of(of).name}"  # noqa: S608
                    f" GROUP BY organization HAVING count(*) >= {sizes.MANY_TEXTS}"
                )
            for organization, space in found:
                for in_space in (WORDS, space):
                    if in_space is not None:
                        self._read_on(self._index(IndexKey(organization, of.kind, in_space)))
        self.save()

    def _read_on(self, index: Index[Any]) -> None:
        while not self.stopping.is_set() and not index.advance():
            pass

    def save(self) -> None:
        """Save the indices of which much is unsaved."""
        with self._guard:
            keys, self._wanted = self._wanted, set()
        for key in sorted(keys):
            if (index := self._open.get(key)) is not None:
                index.save()

    def rebuild(self) -> None:
        """Make all indices anew, and remove index files that belong to no records."""
        for index in self._all_alone():
            index.rebuild()

    def scrub(self) -> None:
        """Remove every trace of removed records from the files, and index files that belong to no records.

        Raises StoreError if a file cannot be written.
        """
        for index in self._all_alone():
            index.scrub()

    def gaps(self) -> Iterator[str]:
        """Yield a sentence for each index that is wrong about some records."""
        for key in self._keys():
            view = self._index(key).current()
            with self._database.committed() as connection:
                wrong = self._differences(connection, key, view)
            if wrong:
                name = "word" if key.space == WORDS else "vector"
                yield f"the {name} index {_folder_name(key)} is wrong about {count_of(wrong, 'record')}"

    def view(self, key: IndexKey) -> IndexView[Any]:
        """Return the thread's view of an index: inside a transaction, with its own writes too."""
        index = self._index(key)
        with self._database.reading() as connection:
            if self._database.is_writing:
                return index.within(self._source(connection, key))
            latest = connection.sequence(key.organization)
        return index.as_of(latest)

    def _all_alone(self) -> list[Index[Any]]:
        """Return all possible indices, and remove the folders of any others."""
        keys = self._keys()
        if self.folder.is_dir():
            current = {_folder_name(key) for key in keys}
            for folder in [path for path in self.folder.iterdir() if path.name not in current]:
                shutil.rmtree(folder, ignore_errors=True)
        return [self._index(key) for key in keys]

    def _index(self, key: IndexKey) -> Index[Any]:
        """Return an open index, opening it if necessary."""
        if (index := self._open.get(key)) is not None:
            return index
        with self._database.reading() as connection:
            named = connection.row(
                "SELECT name FROM organizations WHERE number = ?", (key.organization,)
            )
        identity: dict[str, object] = {
            "store": self._database.identity,
            "organization": named and value_text(named[0]),
            "kind": str(key.kind),
        }
        if key.space == WORDS:
            identity["word"] = ANALYSIS
        else:
            space = self._spaces.space_of(key.space)
            identity["vector"] = [space.name, space.digest, space.dimensions]

        @contextmanager
        def sources() -> Iterator[IndexRecords[Any]]:
            with self._database.committed() as connection:
                yield self._source(connection, key)

        def want_saving() -> None:
            with self._guard:
                self._wanted.add(key)
            self._want_saving()

        payload: type[Any] = Postings if key.space == WORDS else VectorRows
        opened: Index[Any] = Index(
            self.folder / _folder_name(key),
            identity,
            payload,
            sources,
            want_saving,
            self._database.key,
        )
        # Inside a transaction the numbers may still be undone, and later be given to others.
        return opened if self._database.is_writing else self._open.add(key, opened)

    def _source(self, connection: Connection, key: IndexKey) -> IndexRecords[Any]:
        if key.space == WORDS:
            return WordSource(connection, key)
        return VectorSource(connection, key, self._spaces.space_of(key.space).dimensions)

    def _keys(self) -> list[IndexKey]:
        """Return the keys of all possible indices of all organizations."""
        keys = []
        for of in TEXT_CLASSES.values():
            with self._database.committed() as connection:
                found = connection.rows(
                    f"SELECT DISTINCT organization, space FROM {table_of(of).name}"  # noqa: S608
                )
            for organization in sorted({organization for organization, _ in found}):
                if self.is_large(organization, of):
                    keys.append(IndexKey(organization, of.kind, WORDS))
            for organization, space in sorted(row for row in found if row[1] is not None):
                keys.append(IndexKey(organization, of.kind, space))
        return keys

    def _differences(self, connection: Connection, key: IndexKey, view: IndexView[Any]) -> int:
        """Return the number of records that the view lacks, has with other content, or has although there is no such record.

        Records that changed after the view was taken do not count.
        """
        digests = term_checksums if key.space == WORDS else _row_digests
        source, since, is_last = self._source(connection, key), 0, False
        indexed, suspected = dict(digests(view)), set[bytes]()
        # In pages, as the index itself is made, so that memory is bounded.
        while not is_last:
            page = source.page(since)
            if page.block is not None:
                current = digests(IndexView(layers=(Layer(page.block),)))
                suspected.update(id for id, digest in current if indexed.pop(id, None) != digest)
            since, is_last = page.sequence, page.is_last
        suspected.update(indexed)
        later = change_feed.changes(connection, key.organization, view.sequence, None)
        return len(suspected - {id_bytes(change.id) for change in later})


def _row_digests(view: IndexView[VectorRows]) -> Iterator[tuple[bytes, int]]:
    return ((id, hash(vectors)) for id, vectors in rows_of(view))


def _folder_name(key: IndexKey) -> str:
    return f"{key.organization}-{key.kind}-{key.space}"
