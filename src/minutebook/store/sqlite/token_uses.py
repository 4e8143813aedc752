"""When each token was used last, in a table of the file."""

from datetime import datetime
from typing import Any

from minutebook.store.sql.tables import instant, microseconds, value_text
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.tables import text_value

_NOTE = "INSERT INTO uses VALUES (?, ?) ON CONFLICT (token) DO UPDATE SET at = max(at, excluded.at)"


class SqliteTokenUses:
    """`TokenUses` in a table of the file."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def note(self, token: str, at: datetime) -> None:
        """Note that a token was used at an instant, unless a later use is noted."""
        with self._connections.writing() as connection:
            connection.execute(_NOTE, (text_value(token), microseconds(at)))

    def latest(self) -> dict[str, datetime]:
        """Return when each token was used last, by its id."""
        with self._connections.reading() as connection:
            rows: list[Any] = connection.execute("SELECT token, at FROM uses").fetchall()
        return {value_text(token): instant(at) for token, at in rows}
