"""Rows that all servers share: leases, by the clock of the database, and values."""

from minutebook.store.sql.database import Database

# The statement's time, not the moment's: a cluster settles it where the statement arrives.
_UNTIL = "statement_timestamp() + make_interval(secs => ?)"
_RENEW = (
    f"UPDATE leases SET holder = ?, until = {_UNTIL}"  # noqa: S608
    " WHERE name = ? AND (holder = ? OR until < statement_timestamp()) RETURNING 1"
)
_TAKE = f"INSERT INTO leases VALUES (?, ?, {_UNTIL}) ON CONFLICT DO NOTHING RETURNING 1"  # noqa: S608
_KEEP = "SELECT 1 FROM leases WHERE name = ? AND holder = ? AND until > statement_timestamp() FOR UPDATE"
_RELEASE = "DELETE FROM leases WHERE name = ? AND holder = ?"
_IS_TAKEN = "SELECT 1 FROM leases WHERE name = ? AND until > statement_timestamp()"


class PostgresLeases:
    """`LeaseRows` in a table of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, name: str, holder: str, seconds: float) -> bool:
        """Lease a name to a holder for so many seconds from now; return False if another holds it."""
        with self._database.committed() as connection:
            return bool(
                connection.row(_RENEW, (holder, seconds, name, holder))
                or connection.row(_TAKE, (name, holder, seconds))
            )

    def keep(self, name: str, holder: str) -> bool:
        """Tell whether a holder has a name, and let nobody take it until the transaction ends."""
        with self._database.reading() as connection:
            return connection.row(_KEEP, (name, holder)) is not None

    def release(self, name: str, holder: str) -> None:
        """Take a name from a holder, unless it is another's by now."""
        with self._database.committed() as connection:
            connection.run(_RELEASE, (name, holder))

    def is_taken(self, name: str) -> bool:
        """Tell whether anybody has a name."""
        with self._database.committed() as connection:
            return connection.row(_IS_TAKEN, (name,)) is not None


_READ = "SELECT value FROM shared_values WHERE name = ?"
_WRITE = "INSERT INTO shared_values VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value"
_CLAIM = "INSERT INTO shared_values VALUES (?, ?) ON CONFLICT DO NOTHING"


class PostgresSharedValues:
    """`SharedValues` in a table of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> str | None:
        """Return the shared value of a name, or None."""
        with self._database.reading() as connection:
            found = connection.row(_READ, (name,))
        return None if found is None else str(found[0])

    def write(self, name: str, text: str) -> None:
        """Keep a value in place of any of that name."""
        with self._database.reading() as connection:
            connection.run(_WRITE, (name, text))

    def claim(self, name: str, text: str) -> str:
        """Keep a value unless there is one of that name; return the one that there is then."""
        with self._database.reading() as connection:
            connection.run(_CLAIM, (name, text))
            found = connection.row(_READ, (name,))
        return text if found is None else str(found[0])
