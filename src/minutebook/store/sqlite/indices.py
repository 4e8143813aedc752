"""Every index that was asked for, of vectors and of words, by organization, kind and space."""

import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic

import apsw
import numpy as np

from minutebook.domain.counts import count_of
from minutebook.domain.filters import Filter
from minutebook.domain.records import CLASSES, TEXT_CLASSES, Kind, Record, TextRecord
from minutebook.search.text import ANALYSIS, TextQuery
from minutebook.store.protocol import Candidate, Vectors, VectorSpace
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import P
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sidecar.index import Index
from minutebook.store.sidecar.open_indices import OpenIndices
from minutebook.store.sidecar.vectors import VectorRows, nearest, rows_of
from minutebook.store.sidecar.view import Layer, View
from minutebook.store.sidecar.words import Postings, match, sums_of
from minutebook.store.sql import index_columns
from minutebook.store.sql.tables import id_bytes
from minutebook.store.sqlite import change_feed, embeddings
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.index_source import (
    WORDS,
    Key,
    Source,
    VectorSource,
    WordSource,
    conditions,
)
from minutebook.store.sqlite.missing_database import index_of
from minutebook.store.sqlite.tables import table_of


class Indices:
    """Opens an index when it is first asked."""

    def __init__(
        self, path: Path, connections: Connections, want_saving: Callable[[], None]
    ) -> None:
        self.folder = index_of(path)
        self._connections = connections
        self._vectors = _VectorIndices(self.folder, connections, want_saving)
        self._words = _WordIndices(self.folder, connections, want_saving)

    def nearest(
        self,
        of: type[TextRecord],
        where: Filter,
        space: VectorSpace,
        vector: Vectors,
        limit: int,
        also: Collection[str],
    ) -> list[Candidate]:
        """Rank the selected records by cosine, as the thread sees them."""
        query, named = vector.astype(np.float32), {id_bytes(id) for id in also}
        with self._connections.snapshot() as connection:
            organization = change_feed.number_of(connection, where.organization)
            number = embeddings.number_of(connection, space)
            if organization is None or number is None:
                return []
            key = Key(organization, of.kind, number)
            record_conditions = conditions(connection, of, where)
            index = self._vectors.index(connection, key)
            if self._connections.is_writing:
                view = index.within(self._vectors.reader(connection, key)(connection))
                return nearest(view, record_conditions, query, limit, named)
        return nearest(index.current(), record_conditions, query, limit, named)

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate] | None:
        """Rank the selected records by BM25; None where the text index in the database has to.

        That is inside a transaction, for phrases, for few records, and while many changes are
        still to be read, which then happens in the background.
        """
        if query.phrases or self._connections.is_writing:
            return None
        with self._connections.snapshot() as connection:
            key = self._words.large(connection, of, where.organization)
            if key is None:
                return None
            record_conditions = conditions(connection, of, where)
            index = self._words.index(connection, key)
        if index.behind() > sizes.BEHIND:
            self._words.want_catching_up(key)
            return None
        return match(index.current(), record_conditions, query.terms, limit)

    def named(self, of: type[Record], where: Filter, order: Sequence[str], needed: int) -> Filter:
        """Add to a Filter the ids of those that come first, where SQL would look at many rows for them."""
        columns = self.columns(of, where)
        first = None if columns is None else columns.first(order, needed)
        return where if first is None else replace(where, ids=frozenset(first))

    def columns(
        self, of: type[Record], where: Filter, space: VectorSpace | None = None
    ) -> Columns | None:
        """Return the columns of the index of words, or of a space's vectors, that tell which records a Filter selects.

        None where the database has to: where they do not say all that is asked, some records are named, or
        `match` leaves it to the database, too.
        """
        if (
            not issubclass(of, TextRecord)
            or self._connections.is_writing
            or not index_columns.are_quicker(table_of(of), where)
        ):
            return None
        with self._connections.reading() as connection:
            key = self._words.large(connection, of, where.organization)
            number = WORDS if space is None else embeddings.number_of(connection, space)
            if key is None or number is None:
                return None
            family: _Family[Any] = self._words if space is None else self._vectors
            index = family.index(connection, key._replace(space=number))
            asked = conditions(connection, of, where)
        view = index.if_large()
        return None if view is None else Columns(view, asked)

    def keep_up(self) -> None:
        """Read the changes that searches were not to wait for, then save what is worth it."""
        self._words.catch_up()
        self.save()

    def save(self) -> None:
        """Save the indices of which much is unsaved."""
        self._vectors.save()
        self._words.save()

    def stop(self) -> None:
        """End `keep_up` soon."""
        self._words.stopping.set()

    def rebuild(self) -> None:
        """Make all indices anew, and remove what belongs to no records."""
        self._keep_only({*self._vectors.rebuild(), *self._words.rebuild()})

    def scrub(self) -> None:
        """Leave nothing of removed records in the files, and no index that belongs to no records.

        Raises StoreError if a file cannot be written.
        """
        self._keep_only({*self._vectors.scrub(), *self._words.scrub()})

    def _keep_only(self, current: Collection[str]) -> None:
        if self.folder.is_dir():
            for folder in [path for path in self.folder.iterdir() if path.name not in current]:
                shutil.rmtree(folder, ignore_errors=True)

    def gaps(self) -> Iterator[str]:
        """Tell of each index about how many records it is wrong."""
        yield from self._vectors.gaps()
        yield from self._words.gaps()


class _Family(ABC, Generic[P]):
    """The indices that hold one payload."""

    payload: type[P]
    name: str

    def __init__(
        self, folder: Path, connections: Connections, want_saving: Callable[[], None]
    ) -> None:
        self._folder = folder
        self._connections = connections
        self._want_saving = want_saving
        self._open = OpenIndices[Key]()
        self._guard = threading.Lock()
        self._wanted: set[Key] = set()

    @abstractmethod
    def keys(self, connection: apsw.Connection) -> Iterable[Key]:
        """Return the keys of what can be indexed."""

    @abstractmethod
    def reader(
        self, connection: apsw.Connection, key: Key
    ) -> Callable[[apsw.Connection], Source[P]]:
        """Return a function that makes a reader of an index's records from a connection."""

    @abstractmethod
    def identity(self, connection: apsw.Connection, key: Key) -> object:
        """Return what the files depend on beside store, organization and kind."""

    @abstractmethod
    def expected(self, connection: apsw.Connection, key: Key) -> Iterator[tuple[bytes, int]]:
        """Yield, for each record that belongs in an index, its id and a digest of what the index should hold."""

    @abstractmethod
    def held(self, view: View[P]) -> Iterator[tuple[bytes, int]]:
        """Yield, for each record in an index, its id and a digest of what the index holds."""

    def index(self, connection: apsw.Connection, key: Key) -> Index[P]:
        """Open an index, unless it is open."""
        index = self._open.get(key)
        if index is not None:
            return index
        identity = {
            "store": connection.execute("SELECT id FROM identity").get,
            "organization": change_feed.name_of(connection, key.organization),
            "kind": str(key.kind),
            self.name: self.identity(connection, key),
        }

        reader = self.reader(connection, key)

        @contextmanager
        def sources() -> Iterator[Source[P]]:
            with self._connections.committed() as committed:
                yield reader(committed)

        def want_saving() -> None:
            with self._guard:
                self._wanted.add(key)
            self._want_saving()

        folder = self._folder / _folder_name(key)
        index = Index(folder, identity, self.payload, sources, want_saving, self._connections.key)
        if self._connections.is_writing:
            # The numbers may yet be undone and stand for others afterwards.
            return index
        return self._open.add(key, index)

    def save(self) -> None:
        """Save the indices of which much is unsaved."""
        with self._guard:
            keys, self._wanted = self._wanted, set()
        for key in sorted(keys):
            if (index := self._open.get(key)) is not None:
                index.save()

    def rebuild(self) -> list[str]:
        """Rebuild the indices; return the names of their folders."""
        indices = self._all()
        for index in indices.values():
            index.rebuild()
        return list(indices)

    def scrub(self) -> list[str]:
        """Write anew what holds removed records; return the names of the indices' folders."""
        indices = self._all()
        for index in indices.values():
            index.scrub()
        return list(indices)

    def _all(self) -> dict[str, Index[P]]:
        """Return the index of everything that can be indexed, by the name of its folder."""
        with self._connections.committed() as connection:
            keys = list(self.keys(connection))
            return {_folder_name(key): self.index(connection, key) for key in keys}

    def gaps(self) -> Iterator[str]:
        """Tell of each index about how many records it is wrong."""
        with self._connections.committed() as connection:
            opened = [(key, self.index(connection, key)) for key in self.keys(connection)]
        for key, index in opened:
            view = index.current()
            with self._connections.committed() as connection:
                wrong = self._differences(connection, key, view)
            if wrong:
                yield f"the {self.name} index {_folder_name(key)} is wrong about {count_of(wrong, 'record')}"

    def _differences(self, connection: apsw.Connection, key: Key, view: View[P]) -> int:
        """Count the records that the view lacks, has otherwise or has without a record.

        What changed after the view was taken is left out.
        """
        organization = change_feed.name_of(connection, key.organization)
        later = change_feed.changes(connection, organization, view.sequence, None)
        changed = {change.id.encode("utf-8", "surrogatepass") for change in later}
        held = {id: digest for id, digest in self.held(view) if id not in changed}
        wrong = sum(
            held.pop(id, None) != digest
            for id, digest in self.expected(connection, key)
            if id not in changed
        )
        return wrong + len(held)


class _VectorIndices(_Family[VectorRows]):
    payload = VectorRows
    name = "vector"

    def keys(self, connection: apsw.Connection) -> Iterator[Key]:
        for of in TEXT_CLASSES.values():
            found: Iterator[tuple[int, int]] = connection.execute(
                f"SELECT DISTINCT organization, space FROM {table_of(of).name}"  # noqa: S608
                " WHERE space IS NOT NULL ORDER BY 1, 2"
            )
            for number, space in list(found):
                yield Key(number, of.kind, space)

    def reader(
        self, connection: apsw.Connection, key: Key
    ) -> Callable[[apsw.Connection], VectorSource]:
        # In a transaction the space may be new, and other connections not know it yet.
        dimensions = embeddings.space_of(connection, key.space).dimensions
        return lambda connection: VectorSource(connection, key, dimensions)

    def identity(self, connection: apsw.Connection, key: Key) -> object:
        space = embeddings.space_of(connection, key.space)
        return [space.name, space.digest, space.dimensions]

    def expected(self, connection: apsw.Connection, key: Key) -> Iterator[tuple[bytes, int]]:
        table = table_of(CLASSES[key.kind])
        stored = connection.execute(
            f"SELECT r.id, v.vectors FROM {table.name} AS r"  # noqa: S608
            f" JOIN {table.name}_vectors AS v ON v.row = r.row"
            " WHERE r.organization = ? AND r.space = ?",
            (key.organization, key.space),
        )
        return ((id_bytes(id), hash(vectors)) for id, vectors in stored)

    def held(self, view: View[VectorRows]) -> Iterator[tuple[bytes, int]]:
        return ((id, hash(vectors)) for id, vectors in rows_of(view))


class _WordIndices(_Family[Postings]):
    payload = Postings
    name = "word"

    def __init__(
        self, folder: Path, connections: Connections, want_saving: Callable[[], None]
    ) -> None:
        super().__init__(folder, connections, want_saving)
        self.stopping = threading.Event()
        self._behind: set[Key] = set()
        self._large: set[Key] = set()
        self._small_until: dict[Key, int] = {}

    def keys(self, connection: apsw.Connection) -> Iterator[Key]:
        found: Iterator[tuple[int, str]] = connection.execute(
            "SELECT organization, kind FROM text_indices ORDER BY 1, 2"
        )
        for number, kind in list(found):
            key = Key(number, Kind(kind), WORDS)
            if self.is_large(connection, key):
                yield key

    def reader(
        self, connection: apsw.Connection, key: Key
    ) -> Callable[[apsw.Connection], WordSource]:
        return lambda connection: WordSource(connection, key.organization, key.kind)

    def identity(self, connection: apsw.Connection, key: Key) -> object:
        return ANALYSIS

    def expected(self, connection: apsw.Connection, key: Key) -> Iterator[tuple[bytes, int]]:
        # In pages, as the index itself is made, so that memory is bounded.
        source, since, is_last = self.reader(connection, key)(connection), 0, False
        while not is_last:
            page = source.page(since)
            if page.block is not None:
                yield from sums_of(View(layers=(Layer(page.block),)))
            since, is_last = page.sequence, page.is_last

    def held(self, view: View[Postings]) -> Iterator[tuple[bytes, int]]:
        return sums_of(view)

    def large(
        self, connection: apsw.Connection, of: type[TextRecord], organization: str
    ) -> Key | None:
        """Return the key of the index of an organization's records of a kind, None if they are few."""
        number = change_feed.number_of(connection, organization)
        key = None if number is None else Key(number, of.kind, WORDS)
        return key if key is not None and self.is_large(connection, key) else None

    def is_large(self, connection: apsw.Connection, key: Key) -> bool:
        """Tell whether there are so many records that searching the database itself is slow."""
        if key in self._large:
            return True
        changes = connection.execute(
            "SELECT sequence FROM organizations WHERE number = ?", (key.organization,)
        ).get
        # Records need as many changes to become so many: most searches need not count them.
        if changes < self._small_until.get(key, sizes.MANY_TEXTS):
            return False
        records = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {table_of(CLASSES[key.kind]).name}"  # noqa: S608
            " WHERE organization = ? LIMIT ?)",
            (key.organization, sizes.MANY_TEXTS),
        ).get
        if records < sizes.MANY_TEXTS:
            self._small_until[key] = changes + sizes.MANY_TEXTS - records
            return False
        if not self._connections.is_writing:
            self._large.add(key)
        return True

    def want_catching_up(self, key: Key) -> None:
        """Ask the background thread to bring an index up to date."""
        with self._guard:
            self._behind.add(key)
        self._want_saving()

    def catch_up(self) -> None:
        """Read what changed into the indices for which that was wanted, until `stopping` is set."""
        with self._guard:
            behind, self._behind = self._behind, set()
        for key in sorted(behind):
            index = self._open.get(key)
            while index is not None and not self.stopping.is_set() and not index.advance():
                pass


def _folder_name(key: Key) -> str:
    return f"{key.organization}-{key.kind}-{key.space}"
