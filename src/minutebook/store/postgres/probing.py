"""Ask a database whether it answers, and whether it takes writes."""

from minutebook.domain.errors import StoreClosed, StoreError
from minutebook.store.postgres.connections import Connections

_WRITE = "SELECT current_setting('transaction_read_only')::bool, pg_logical_emit_message(true, 'minutebook', '')"
"""Writes to the log of the server, and to no table; a server that only reads refuses it or says so."""


class Probing:
    """The part of a store that is asked how its database is."""

    _connections: Connections
    _is_open: bool
    _place: str

    def check_answers(self) -> None:
        """Raise StoreError unless the database answers at this moment."""
        self._check_open()
        with self._connections.committed() as connection:
            connection.execute("SELECT 1")

    def check_writes(self) -> None:
        """Raise StoreError unless the database commits a write at this moment."""
        self._check_open()
        with self._connections.registering() as connection:
            found = connection.execute(_WRITE).fetchone()
        if found is None or found[0]:
            raise StoreError("{place}: the database is read-only", place=self._place)

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreClosed("{place}: the store was closed", place=self._place)
