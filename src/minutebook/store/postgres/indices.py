"""Every index that was asked for, of vectors and of words, by organization, kind and space."""

import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minutebook.domain.counts import count_of
from minutebook.domain.filters import Filter
from minutebook.domain.records import TEXT_CLASSES, Record, TextRecord
from minutebook.search import text as analysis
from minutebook.search.text import TextQuery
from minutebook.store.postgres import change_feed, rows
from minutebook.store.postgres.connections import Connection, Connections
from minutebook.store.postgres.embeddings import Spaces
from minutebook.store.postgres.index_source import WORDS, Key, Source, VectorSource, WordSource
from minutebook.store.postgres.tables import table_of
from minutebook.store.protocol import Candidate, Vectors, VectorSpace
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sidecar.index import Index
from minutebook.store.sidecar.open_indices import OpenIndices
from minutebook.store.sidecar.phrases import holding_all, match_phrases
from minutebook.store.sidecar.vectors import VectorRows, nearest, rows_of
from minutebook.store.sidecar.view import Conditions, Layer, View
from minutebook.store.sidecar.words import Postings, by_word, match, sums_of
from minutebook.store.sql import index_columns
from minutebook.store.sql.tables import id_bytes

_BATCH = 1000


class Indices:
    """Opens an index when it is first asked; each answers as of the store's latest change."""

    def __init__(
        self,
        folder: Path,
        connections: Connections,
        spaces: Spaces,
        want_saving: Callable[[], None],
    ) -> None:
        self.folder = folder
        self._connections = connections
        self._spaces = spaces
        self._want_saving = want_saving
        self._open = OpenIndices[Key]()
        self._guard = threading.Lock()
        self._wanted: set[Key] = set()

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
        conditions = self._conditions(number, of, where)
        view: View[VectorRows] = self._view(Key(number, of.kind, in_space))
        named = {id_bytes(id) for id in also}
        return nearest(view, conditions, vector.astype(np.float32), limit, named)

    def match(
        self, number: int, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records by BM25, as the thread sees them."""
        if not query:
            return []
        if not query.phrases:
            conditions = self._conditions(number, of, where)
            return by_word(match(self._words(number, of), conditions, query.terms, limit), query)
        view = self._words(number, of)
        with self._connections.reading() as connection:
            allowed = rows.ids(connection, number, of, where, ())

        def texts(ids: Collection[str]) -> Mapping[str, Sequence[str]]:
            return {each.id: analysis.terms(each.text) for each in self._records(number, of, ids)}

        return by_word(match_phrases(view, query, allowed, texts, limit), query)

    def columns(self, number: int, of: type[Record], where: Filter) -> Columns | None:
        """Return the columns of the index of words that tell which records a Filter selects; None where SQL has to."""
        if (
            not issubclass(of, TextRecord)
            or self._connections.is_writing
            or not index_columns.are_quicker(table_of(of), where)
        ):
            return None
        view = self._index(Key(number, of.kind, WORDS)).if_large()
        return None if view is None else Columns(view, self._conditions(number, of, where))

    def matches_phrase(
        self, number: int, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        """Return the sorted ids of the selected records whose text holds the words as a phrase."""
        # The index tells words with one stem apart no more: each candidate's own text decides.
        likely = holding_all(self._words(number, of), analysis.phrase(words))
        found = self._records(number, of, likely, where)
        return sorted(
            each.id for each in found if _holds_in_a_row(analysis.words(each.text), list(words))
        )

    def save(self) -> None:
        """Save the indices of which much is unsaved."""
        with self._guard:
            keys, self._wanted = self._wanted, set()
        for key in sorted(keys):
            if (index := self._open.get(key)) is not None:
                index.save()

    def rebuild(self) -> None:
        """Make the indices of all organizations anew."""
        keys = list(self._keys())
        for key in keys:
            self._index(key).rebuild()
        if self.folder.is_dir():
            current = {_folder_name(key) for key in keys}
            for folder in [path for path in self.folder.iterdir() if path.name not in current]:
                shutil.rmtree(folder, ignore_errors=True)

    def gaps(self) -> Iterator[str]:
        """Yield of each index that is wrong about how many records it is."""
        for key in list(self._keys()):
            index = self._index(key)
            view = index.current()
            with self._connections.committed() as connection:
                wrong = self._differences(connection, key, view)
            if wrong:
                name = "word" if key.space == WORDS else "vector"
                yield f"the {name} index {_folder_name(key)} is wrong about {count_of(wrong, 'record')}"

    def _conditions(self, number: int, of: type[TextRecord], where: Filter) -> Conditions:
        def selected() -> list[str]:
            with self._connections.reading() as connection:
                return rows.ids(connection, number, of, where, ())

        return index_columns.conditions(table_of(of), where, selected)

    def _words(self, number: int, of: type[TextRecord]) -> View[Postings]:
        return self._view(Key(number, of.kind, WORDS))

    def _records(
        self,
        number: int,
        of: type[TextRecord],
        ids: Collection[str],
        where: Filter | None = None,
    ) -> Iterator[TextRecord]:
        """Yield those of some records that are selected."""
        everything = Filter(organization="", with_deleted=True)
        ordered = sorted(ids)
        with self._connections.reading() as connection:
            for start in range(0, len(ordered), _BATCH):
                batch = frozenset(ordered[start : start + _BATCH])
                chosen = where or everything
                if chosen.ids is not None:
                    batch &= chosen.ids
                part = replace(chosen, ids=batch)
                yield from rows.find(connection, number, of, part, (), None, 0)

    def _view(self, key: Key) -> View[Any]:
        """Return what the thread sees of an index: inside a transaction, what it wrote too."""
        index = self._index(key)
        if not self._connections.is_writing:
            return index.current()
        with self._connections.reading() as connection:
            return index.within(self._source(connection, key))

    def _index(self, key: Key) -> Index[Any]:
        index = self._open.get(key)
        if index is not None:
            return index
        identity: dict[str, object] = {
            "store": self._connections.identity,
            "organization": key.organization,
            "kind": str(key.kind),
        }
        if key.space == WORDS:
            identity["word"] = analysis.ANALYSIS
        else:
            space = self._spaces.of(key.space)
            identity["vector"] = [space.name, space.digest, space.dimensions]

        @contextmanager
        def sources() -> Iterator[Source[Any]]:
            with self._connections.committed() as connection:
                yield self._source(connection, key)

        def want_saving() -> None:
            with self._guard:
                self._wanted.add(key)
            self._want_saving()

        payload: type[Any] = Postings if key.space == WORDS else VectorRows
        folder = self.folder / _folder_name(key)
        opened: Index[Any] = Index(folder, identity, payload, sources, want_saving)
        return self._open.add(key, opened)

    def _source(self, connection: Connection, key: Key) -> Source[Any]:
        if key.space == WORDS:
            return WordSource(connection, key)
        return VectorSource(connection, key, self._spaces.of(key.space).dimensions)

    def _keys(self) -> Iterator[Key]:
        """Yield what can be indexed of all organizations."""
        for of in TEXT_CLASSES.values():
            with self._connections.committed() as connection:
                found = connection.execute(
                    f"SELECT DISTINCT organization, space FROM {table_of(of).name}"  # noqa: S608
                ).fetchall()
            for organization in sorted({organization for organization, _ in found}):
                yield Key(organization, of.kind, WORDS)
            for organization, space in sorted(row for row in found if row[1] is not None):
                yield Key(organization, of.kind, space)

    def _differences(self, connection: Connection, key: Key, view: View[Any]) -> int:
        """Count the records that the view lacks, has otherwise or has without a record.

        What changed after the view was taken is left out.
        """
        digests = sums_of if key.space == WORDS else _row_digests
        source, since, is_last = self._source(connection, key), 0, False
        held, suspected = dict(digests(view)), set[bytes]()
        while not is_last:
            page = source.page(since)
            if page.block is not None:
                found = digests(View(layers=(Layer(page.block),)))
                suspected.update(id for id, digest in found if held.pop(id, None) != digest)
            since, is_last = page.sequence, page.is_last
        suspected.update(held)
        later = change_feed.changes(connection, key.organization, view.sequence, None)
        changed = {change.id.encode("utf-8", "surrogatepass") for change in later}
        return len(suspected - changed)


def _row_digests(view: View[VectorRows]) -> Iterator[tuple[bytes, int]]:
    return ((id, hash(vectors)) for id, vectors in rows_of(view))


def _folder_name(key: Key) -> str:
    return f"{key.organization}-{key.kind}-{key.space}"


def _holds_in_a_row(words: list[str], run: list[str]) -> bool:
    length = len(run)
    starts = (position for position, word in enumerate(words) if run and word == run[0])
    return any(words[position : position + length] == run for position in starts)
