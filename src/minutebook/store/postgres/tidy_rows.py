"""Suggestions in a table of the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minutebook.store.postgres.connections import Connections
from minutebook.store.sql.tidy_rows import SqlTidyRows


class PostgresTidyRows(SqlTidyRows):
    """`TidyRows` in a table of the database; writers of an organization queue at its change feed."""

    mark = "%s"

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.writing(organization) as found:
            yield found

    @contextmanager
    def _reading(self, organization: str) -> Iterator[tuple[Any, Any]]:
        # None, of one that has no number yet, equals nothing.
        number = self._connections.number_of(organization)
        with self._connections.reading() as connection:
            yield connection, number
