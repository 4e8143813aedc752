"""Every index of vectors that was asked for, by organization, kind and space."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np

from minutebook.domain.filters import Filter
from minutebook.domain.records import CLASSES, TEXT_CLASSES, TextRecord
from minutebook.store.protocol import Candidate, Vectors, VectorSpace
from minutebook.store.sidecar.index import Index
from minutebook.store.sidecar.view import View
from minutebook.store.sqlite import change_feed, embeddings
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.index_source import Key, Source, conditions
from minutebook.store.sqlite.missing_database import index_of
from minutebook.store.sqlite.tables import id_bytes, table_of


class Indices:
    """Opens an index when it is first asked."""

    def __init__(
        self, path: Path, connections: Connections, want_saving: Callable[[], None]
    ) -> None:
        self.folder = index_of(path)
        self._connections = connections
        self._want_saving = want_saving
        self._open: dict[Key, Index] = {}
        self._guard = threading.Lock()
        self._wanted: set[Key] = set()

    def nearest(
        self, of: type[TextRecord], where: Filter, space: VectorSpace, vector: Vectors, limit: int
    ) -> list[Candidate]:
        """Rank the selected records by cosine, as the thread sees them."""
        query = vector.astype(np.float32)
        with self._connections.snapshot() as connection:
            organization = change_feed.number_of(connection, where.organization)
            number = embeddings.number_of(connection, space)
            if organization is None or number is None:
                return []
            key = Key(organization, of.kind, number)
            asked = conditions(connection, of, where)
            index = self._index(connection, key)
            if self._connections.is_writing:
                source = Source(connection, key, space.dimensions)
                return index.nearest_in(source, asked, query, limit)
        return index.nearest(asked, query, limit)

    def save(self) -> None:
        """Save the indices of which much is unsaved."""
        with self._guard:
            wanted, self._wanted = self._wanted, set()
        for index in [self._open[key] for key in sorted(wanted) if key in self._open]:
            index.save()

    def rebuild(self, organization: str | None) -> None:
        """Make the indices of an organization, or of all, anew."""
        with self._connections.committed() as connection:
            keys = _keys(connection, organization)
            indices = [self._index(connection, key) for key in keys]
        for index in indices:
            index.rebuild()
        if organization is None and self.folder.is_dir():
            kept = {_folder_name(key) for key in keys}
            for folder in [path for path in self.folder.iterdir() if path.name not in kept]:
                shutil.rmtree(folder, ignore_errors=True)

    def gaps(self) -> Iterator[str]:
        """Tell of each index about how many records' vectors it is wrong."""
        with self._connections.committed() as connection:
            opened = [(key, self._index(connection, key)) for key in _keys(connection, None)]
        for key, index in opened:
            view = index.current()
            with self._connections.committed() as connection:
                wrong = _differences(connection, key, view)
            if wrong:
                yield f"the vector index {_folder_name(key)} is wrong about {wrong} records"

    def _index(self, connection: apsw.Connection, key: Key) -> Index:
        index = self._open.get(key)
        if index is not None:
            return index
        space = embeddings.space_of(connection, key.space)
        identity = {
            "store": connection.execute("SELECT id FROM identity").get,
            "organization": change_feed.name_of(connection, key.organization),
            "kind": str(key.kind),
            "space": [space.name, space.digest, space.dimensions],
        }

        @contextmanager
        def sources() -> Iterator[Source]:
            with self._connections.committed() as committed:
                yield Source(committed, key, space.dimensions)

        def want_saving() -> None:
            with self._guard:
                self._wanted.add(key)
            self._want_saving()

        index = Index(self.folder / _folder_name(key), identity, sources, want_saving)
        if self._connections.is_writing:
            # The numbers may yet be undone and stand for others afterwards.
            return index
        return self._open.setdefault(key, index)


def _folder_name(key: Key) -> str:
    return f"{key.organization}-{key.kind}-{key.space}"


def _keys(connection: apsw.Connection, organization: str | None) -> list[Key]:
    """Name what vectors there are."""
    only = None if organization is None else change_feed.number_of(connection, organization)
    if organization is not None and only is None:
        return []
    found = []
    for of in TEXT_CLASSES.values():
        for number, space in connection.execute(
            f"SELECT DISTINCT organization, space FROM {table_of(of).name}"  # noqa: S608
            " WHERE space IS NOT NULL ORDER BY 1, 2"
        ):
            if only is None or number == only:
                found.append(Key(number, of.kind, space))
    return found


def _differences(connection: apsw.Connection, key: Key, view: View) -> int:
    """Count the records whose vectors the view lacks, has otherwise or has without a record.

    What changed after the view was taken is left out.
    """
    organization = change_feed.name_of(connection, key.organization)
    later = change_feed.changes(connection, organization, view.sequence, None)
    changed = {change.id.encode("utf-8", "surrogatepass") for change in later}
    held = {id: hash(vectors) for id, vectors in view.vectors() if id not in changed}
    table = table_of(CLASSES[key.kind])
    kept = connection.execute(
        f"SELECT r.id, v.vectors FROM {table.name} AS r"  # noqa: S608
        f" JOIN {table.name}_vectors AS v ON v.row = r.row"
        " WHERE r.organization = ? AND r.space = ?",
        (key.organization, key.space),
    )
    wrong = sum(
        held.pop(id, None) != hash(vectors)
        for id, vectors in ((id_bytes(id), vectors) for id, vectors in kept)
        if id not in changed
    )
    return wrong + len(held)
