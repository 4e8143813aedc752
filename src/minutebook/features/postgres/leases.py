"""Leases as rows, by the clock of the database."""

from minutebook.features.postgres.connections import Connections

# The statement's time, not the moment's: a cluster settles it where the statement arrives.
_RENEW = """
UPDATE leases SET holder = %(holder)s, until = statement_timestamp() + make_interval(secs => %(secs)s)
WHERE name = %(name)s AND (holder = %(holder)s OR until < statement_timestamp())"""
_TAKE = """
INSERT INTO leases
VALUES (%(name)s, %(holder)s, statement_timestamp() + make_interval(secs => %(secs)s))
ON CONFLICT DO NOTHING"""
_KEEP = """
SELECT 1 FROM leases WHERE name = %s AND holder = %s AND until > statement_timestamp() FOR UPDATE"""
_RELEASE = "DELETE FROM leases WHERE name = %s AND holder = %s"
_IS_TAKEN = "SELECT 1 FROM leases WHERE name = %s AND until > statement_timestamp()"


class PostgresLeases:
    """`LeaseRows` in a table of the database."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, name: str, holder: str, seconds: float) -> bool:
        """Lease a name to a holder for so many seconds from now; return False if another holds it."""
        with self._connections.committed() as connection:
            values = {"name": name, "holder": holder, "secs": seconds}
            return any(connection.raw.execute(each, values).rowcount for each in (_RENEW, _TAKE))

    def keep(self, name: str, holder: str) -> bool:
        """Tell whether a holder has a name, and let nobody take it until the transaction ends."""
        with self._connections.reading() as connection:
            return connection.raw.execute(_KEEP, (name, holder)).fetchone() is not None

    def release(self, name: str, holder: str) -> None:
        """Take a name from a holder, unless it is another's by now."""
        with self._connections.committed() as connection:
            connection.raw.execute(_RELEASE, (name, holder))

    def is_taken(self, name: str) -> bool:
        """Tell whether anybody has a name."""
        with self._connections.committed() as connection:
            return connection.raw.execute(_IS_TAKEN, (name,)).fetchone() is not None
