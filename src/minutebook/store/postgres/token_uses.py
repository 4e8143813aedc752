"""When each token was used last, in a table of the database."""

from datetime import datetime

from minutebook.store.postgres.connections import Connections
from minutebook.store.sql.tables import instant, microseconds

_NOTE = (
    "INSERT INTO uses VALUES (%s, %s)"
    " ON CONFLICT (token) DO UPDATE SET at = EXCLUDED.at WHERE uses.at < EXCLUDED.at"
)


class PostgresTokenUses:
    """`TokenUses` in a table of the database: one statement, which locks the token's row alone."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def note(self, token: str, at: datetime) -> None:
        """Note that a token was used at an instant, unless a later use is noted."""
        with self._connections.reading() as connection:
            connection.execute(_NOTE, (token, microseconds(at)))

    def latest(self) -> dict[str, datetime]:
        """Return when each token was used last, by its id."""
        with self._connections.reading() as connection:
            rows = connection.execute("SELECT token, at FROM uses").fetchall()
        return {token: instant(at) for token, at in rows}
