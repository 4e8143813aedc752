"""The last use of each token, kept outside the records because callers that only read write it."""

from datetime import datetime

from minutebook.store.sql.database import Database
from minutebook.store.sql.tables import instant, microseconds, value_text

_NOTE = (
    "INSERT INTO uses VALUES (?, ?)"
    " ON CONFLICT (token) DO UPDATE SET at = EXCLUDED.at WHERE uses.at < EXCLUDED.at"
)


class TokenUses:
    """The last uses in a table of the database; each member may be called from any thread.

    A use is no record: no organization's writers wait for it, and it is not in the change feed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, token: str, at: datetime) -> None:
        """Note that a token was used at an instant, unless a later use is noted."""
        with self._database.writing_outside_feed() as connection:
            connection.run(_NOTE, (token, microseconds(at)))

    def latest(self) -> dict[str, datetime]:
        """Return the instant of the last use of each token, by its id."""
        with self._database.reading() as connection:
            rows = connection.rows("SELECT token, at FROM uses")
        return {value_text(token): instant(at) for token, at in rows}
