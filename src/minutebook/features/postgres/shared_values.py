"""Values that all servers share, in a table of the database."""

from minutebook.features.postgres.connections import Connections

_READ = "SELECT value FROM shared_values WHERE name = %s"
_WRITE = "INSERT INTO shared_values VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value"
_CLAIM = "INSERT INTO shared_values VALUES (%s, %s) ON CONFLICT DO NOTHING"


class PostgresSharedValues:
    """`SharedValues` in a table of the database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, name: str) -> str | None:
        """Return the shared value of a name, or None."""
        with self._connections.reading() as connection:
            found = connection.raw.execute(_READ, (name,)).fetchone()
        return None if found is None else str(found[0])

    def write(self, name: str, text: str) -> None:
        """Keep a value in place of any of that name."""
        with self._connections.reading() as connection:
            connection.raw.execute(_WRITE, (name, text))

    def claim(self, name: str, text: str) -> str:
        """Keep a value unless there is one of that name; return the one that there is then."""
        with self._connections.reading() as connection:
            connection.raw.execute(_CLAIM, (name, text))
            found = connection.raw.execute(_READ, (name,)).fetchone()
        return text if found is None else str(found[0])
