"""The recall log in tables of the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minutebook.store.sql.recall_rows import SqlRecallRows
from minutebook.store.sql.tables import value_text
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.tables import text_value

_WAIT = 2.0


class SqliteRecallRows(SqlRecallRows):
    """`RecallRows` in tables of the file, whose writers wait for one another."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.writing(_WAIT) as connection:
            yield connection, organization

    @contextmanager
    def _reading(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.reading() as connection:
            yield connection, organization

    def _given(self, text: str) -> Any:
        return text_value(text)

    def _text(self, value: Any) -> str:
        return value_text(value)
