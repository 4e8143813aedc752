"""The indices beside a SQLite file. Words of small organizations are only in its own full-text tables."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minutebook.record.filters import Filter
from minutebook.record.records import Record, TextRecord
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sql import rows
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Database
from minutebook.store.sql.embeddings import Spaces
from minutebook.store.sql.indices import Indices
from minutebook.store.sql.tables import table_of
from minutebook.store.sqlite.statements import SqliteConnection

KEPT = 1000
"""The most counts that are cached."""


class Counts:
    """Counts selected records, and caches the counts until the next change.

    SQL takes 70 ms for a million, the columns of an index a millisecond, the cache microseconds. `columns` returns the
    columns for a Filter, None if SQL has to count.
    """

    def __init__(self, columns: Callable[[int, type[Record], Filter], Columns | None]) -> None:
        self._columns = columns
        self._lock = threading.Lock()
        self._known: dict[tuple[type[Record], str, tuple[Any, ...]], tuple[int, int]] = {}

    def count(
        self, connection: SqliteConnection, number: int, of: type[Record], where: Filter
    ) -> int:
        """Return the number of selected records.

        A count inside a transaction is not cached, since the transaction may be undone; nor is
        one at an instant, since hardly any instant is asked for twice.
        """
        if connection.raw.in_transaction and connection.known is None:
            return rows.count(connection, number, of, where)
        if where.valid_at is not None:
            return self._counted(connection, number, of, where)
        condition, values = selection(connection, number, of, where)
        key = of, condition, tuple(values)
        # Before the count: a change in between only makes the next call count again.
        latest = connection.sequence(number)
        with self._lock:
            sequence, counted = self._known.get(key, (-1, 0))
        if sequence != latest:
            counted = self._counted(connection, number, of, where)
            with self._lock:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[key] = latest, counted
        return counted

    def _counted(
        self, connection: SqliteConnection, number: int, of: type[Record], where: Filter
    ) -> int:
        columns = self._columns(number, of, where)
        return rows.count(connection, number, of, where) if columns is None else columns.count()


class SqliteIndices(Indices):
    """`Indices` with words only of organizations that have so many texts that searching the database is slow."""

    def __init__(
        self, folder: Path, database: Database, spaces: Spaces, want_saving: Callable[[], None]
    ) -> None:
        super().__init__(folder, database, spaces, want_saving)
        self.counts = Counts(self.columns)
        self._large: set[tuple[int, type[TextRecord]]] = set()
        self._small_until: dict[tuple[int, type[TextRecord]], int] = {}

    def is_large(self, number: int, of: type[TextRecord]) -> bool:
        """Tell whether an organization has so many records of a kind that they have an index of words."""
        key = number, of
        if key in self._large:
            return True
        with self._database.reading() as connection:
            changes = connection.sequence(number)
            # Each new record is a change, so with few changes there are few records and no need to count them.
            if changes < self._small_until.get(key, sizes.MANY_TEXTS):
                return False
            ((records,),) = connection.rows(
                f"SELECT count(*) FROM (SELECT 1 FROM {table_of(of).name}"  # noqa: S608
                " WHERE organization = ? LIMIT ?)",
                (number, sizes.MANY_TEXTS),
            )
        if records < sizes.MANY_TEXTS:
            self._small_until[key] = changes + sizes.MANY_TEXTS - records
            return False
        if not self._database.is_writing:
            self._large.add(key)
        return True
