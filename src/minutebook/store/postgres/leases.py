"""Leases as rows, by the clock of the database."""

from minutebook.store.postgres.connections import Connections

_TAKE = """
INSERT INTO leases VALUES (%(name)s, %(holder)s, clock_timestamp() + make_interval(secs => %(secs)s))
ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until
WHERE leases.holder = EXCLUDED.holder OR leases.until < clock_timestamp()
RETURNING 1"""
_KEEP = """
SELECT 1 FROM leases WHERE name = %s AND holder = %s AND until > clock_timestamp() FOR UPDATE"""
_RELEASE = "DELETE FROM leases WHERE name = %s AND holder = %s"
_IS_TAKEN = "SELECT 1 FROM leases WHERE name = %s AND until > clock_timestamp()"


class PostgresLeases:
    """`LeaseRows` in a table of the database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, name: str, holder: str, seconds: float) -> bool:
        """Lease a name to a holder for so many seconds from now; return False if another holds it."""
        with self._connections.committed() as connection:
            values = {"name": name, "holder": holder, "secs": seconds}
            return connection.execute(_TAKE, values).fetchone() is not None

    def keep(self, name: str, holder: str) -> bool:
        """Tell whether a holder has a name, and let nobody take it until the transaction ends."""
        with self._connections.reading() as connection:
            return connection.execute(_KEEP, (name, holder)).fetchone() is not None

    def release(self, name: str, holder: str) -> None:
        """Take a name from a holder, unless it is another's by now."""
        with self._connections.committed() as connection:
            connection.execute(_RELEASE, (name, holder))

    def is_taken(self, name: str) -> bool:
        """Tell whether anybody has a name."""
        with self._connections.committed() as connection:
            return connection.execute(_IS_TAKEN, (name,)).fetchone() is not None
