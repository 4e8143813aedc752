"""Suggestions in a table of the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minutebook.store.sql.tables import value_text
from minutebook.store.sql.tidy_rows import SqlTidyRows
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.tables import text_value


class SqliteTidyRows(SqlTidyRows):
    """`TidyRows` in a table of the file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.writing() as connection:
            yield connection, text_value(organization)

    @contextmanager
    def _reading(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.reading() as connection:
            yield connection, text_value(organization)

    def _given(self, text: str) -> Any:
        return text_value(text)

    def _text(self, value: Any) -> str:
        return value_text(value)
