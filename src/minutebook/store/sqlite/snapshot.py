"""The store as it was at one moment."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from minutebook.disk.encryption import Key
from minutebook.domain.filters import Filter
from minutebook.domain.records import Entity, Record
from minutebook.store.protocol import R
from minutebook.store.sqlite import entity_names, rows
from minutebook.store.sqlite.encryption import connect
from minutebook.store.sqlite.errors import translate_errors
from minutebook.store.transaction_names import check_in_snapshot


class SqliteSnapshot:
    """A `Snapshot` on a connection that is inside a reading transaction."""

    def __init__(self, connection: apsw.Connection, organizations: frozenset[str]) -> None:
        self._connection = connection
        self._organizations = organizations

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        check_in_snapshot(self._organizations, where.organization)
        return rows.count(self._connection, of, where)

    def each(self, of: type[R], where: Filter, order: Sequence[str] = ()) -> Iterator[R]:
        """Yield the selected records one at a time, in order, then by id."""
        check_in_snapshot(self._organizations, where.organization)
        return rows.each(self._connection, of, where, order)

    def wrong_names(self, organization: str) -> list[str]:
        """Return the sorted ids of the entities that are listed otherwise than under their names and aliases."""
        entities = self.each(Entity, Filter(organization=organization))
        return entity_names.wrong(self._connection, organization, entities)


class SqliteMoment:
    """A `Moment` on a connection that is inside a reading transaction."""

    def __init__(self, connection: apsw.Connection, key: Key | None) -> None:
        self._connection = connection
        self._key = key

    def copy_to(self, path: Path) -> None:
        """Copy the whole database to a new file, under the same key. Raises StoreError if it cannot be written."""
        with translate_errors(path), closing(connect(path, self._key)) as copy:
            # A caller who needs the copy on the disk syncs it once it is whole.
            copy.pragma("synchronous", "off")
            with copy.backup("main", self._connection, "main") as backup:
                backup.step()
