"""Suggestions in a table of the file. Only a file that was tidied has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minutebook.store.sql.tables import value_text
from minutebook.store.sql.tidy_rows import SqlTidyRows
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.tables import text_value

_TABLE = """
CREATE TABLE IF NOT EXISTS suggestions (
    organization, id, number INTEGER NOT NULL, finding NOT NULL, state NOT NULL, certainty REAL NOT NULL,
    subjects NOT NULL, due INTEGER, found_at INTEGER NOT NULL, settled_at INTEGER, settled_by NOT NULL,
    undo NOT NULL, PRIMARY KEY (organization, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS suggestions_by_number ON suggestions (organization, number);
CREATE INDEX IF NOT EXISTS suggestions_by_due ON suggestions (organization, state, due);
CREATE INDEX IF NOT EXISTS suggestions_by_state ON suggestions (organization, state, number);
"""
_HAS_TABLE = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'suggestions_by_state')"


class SqliteTidyRows(SqlTidyRows):
    """`TidyRows` in a table of the file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.writing() as connection:
            if not connection.execute(_HAS_TABLE).get:
                for _ in connection.execute(_TABLE):
                    pass
            yield connection, text_value(organization)

    @contextmanager
    def _reading(self, organization: str) -> Iterator[tuple[Any, Any]]:
        with self._connections.reading() as connection:
            has_table = bool(connection.execute(_HAS_TABLE).get)
            yield (connection if has_table else None), text_value(organization)

    def _given(self, text: str) -> Any:
        return text_value(text)

    def _text(self, value: Any) -> str:
        return value_text(value)
