"""The recall log in tables of the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minutebook.store.postgres.connections import Connections
from minutebook.store.sql.recall_rows import SqlRecallRows


class PostgresRecallRows(SqlRecallRows):
    """`RecallRows` in tables of the database; no organization's writers are waited for."""

    mark = "%s"

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Any, Any]]:
        number = self._connections.number_of(organization)
        if number is None:
            # A transaction that names an organization gives it a number for good.
            with self._connections.transaction(organization):
                number = self._connections.number_of(organization)
        with self._connections.reading() as connection, connection.transaction():
            yield connection, number

    @contextmanager
    def _reading(self, organization: str) -> Iterator[tuple[Any, Any]]:
        # None, of one that has no number yet, equals nothing.
        number = self._connections.number_of(organization)
        with self._connections.reading() as connection:
            yield connection, number
