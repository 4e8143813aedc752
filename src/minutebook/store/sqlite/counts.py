"""How many records a selection holds, remembered until its organization changes."""

import threading
from collections.abc import Callable

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import Record
from minutebook.store.sidecar.columns import Columns
from minutebook.store.sql.tables import Value
from minutebook.store.sqlite import change_feed, rows
from minutebook.store.sqlite.tables import selection

KEPT = 1000
"""Counts that are remembered, at most."""


class Counts:
    """Counts selected records: 70 ms for a million by SQL, a millisecond by the columns of an index, microseconds until the next change.

    `columns` gives the columns, None where SQL has to count.
    """

    def __init__(self, columns: Callable[[type[Record], Filter], Columns | None]) -> None:
        self._columns = columns
        self._lock = threading.Lock()
        self._known: dict[tuple[type[Record], str, tuple[Value, ...]], tuple[int, int]] = {}

    def count(self, connection: apsw.Connection, of: type[Record], where: Filter) -> int:
        """Count the selected records.

        A count inside a transaction is not remembered, since the transaction may be undone; nor is
        one at an instant, since hardly any instant is asked for twice.
        """
        if connection.in_transaction:
            return rows.count(connection, of, where)
        if where.valid_at is not None:
            return self._counted(connection, of, where)
        condition, values = selection(of, where)
        key = of, condition, tuple(values)
        # Before the count: a change in between only makes the next call count again.
        latest = change_feed.sequence(connection, where.organization)
        with self._lock:
            sequence, counted = self._known.get(key, (-1, 0))
        if sequence != latest:
            counted = self._counted(connection, of, where)
            with self._lock:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[key] = latest, counted
        return counted

    def _counted(self, connection: apsw.Connection, of: type[Record], where: Filter) -> int:
        columns = self._columns(of, where)
        return rows.count(connection, of, where) if columns is None else columns.count()
