"""How many records a selection holds, remembered until its organization changes."""

import threading
from collections.abc import Callable
from typing import Any

from minutebook.domain.filters import Filter
from minutebook.domain.records import Record
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sql import change_feed, rows
from minutebook.store.sql.conditions import selection
from minutebook.store.sqlite.statements import SqliteConnection

KEPT = 1000
"""Counts that are remembered, at most."""


class Counts:
    """Counts selected records: 70 ms for a million by SQL, a millisecond by the columns of an index, microseconds until the next change.

    `columns` gives the columns, None where SQL has to count.
    """

    def __init__(self, columns: Callable[[int, type[Record], Filter], Columns | None]) -> None:
        self._columns = columns
        self._lock = threading.Lock()
        self._known: dict[tuple[type[Record], str, tuple[Any, ...]], tuple[int, int]] = {}

    def count(
        self, connection: SqliteConnection, number: int, of: type[Record], where: Filter
    ) -> int:
        """Count the selected records.

        A count inside a transaction is not remembered, since the transaction may be undone; nor is
        one at an instant, since hardly any instant is asked for twice.
        """
        if connection.raw.in_transaction:
            return rows.count(connection, number, of, where)
        if where.valid_at is not None:
            return self._counted(connection, number, of, where)
        condition, values = selection(connection, number, of, where)
        key = of, condition, tuple(values)
        # Before the count: a change in between only makes the next call count again.
        latest = change_feed.sequence(connection, number)
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
