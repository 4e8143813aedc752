"""The indices beside a file: small organizations' words are in its own full-text tables alone."""

from collections.abc import Callable
from pathlib import Path

from minutebook.domain.records import TextRecord
from minutebook.store.sidecar import sizes
from minutebook.store.sql import change_feed
from minutebook.store.sql.database import Database
from minutebook.store.sql.indices import Indices
from minutebook.store.sql.spaces import Spaces
from minutebook.store.sql.tables import table_of


class SqliteIndices(Indices):
    """`Indices` that have words only of so many texts that searching the database itself is slow."""

    def __init__(
        self, folder: Path, database: Database, spaces: Spaces, want_saving: Callable[[], None]
    ) -> None:
        super().__init__(folder, database, spaces, want_saving)
        self._large: set[tuple[int, type[TextRecord]]] = set()
        self._small_until: dict[tuple[int, type[TextRecord]], int] = {}

    def is_large(self, number: int, of: type[TextRecord]) -> bool:
        """Tell whether an organization has so many records of a kind that they have an index of words."""
        key = number, of
        if key in self._large:
            return True
        with self._database.reading() as connection:
            changes = change_feed.sequence(connection, number)
            # Records need as many changes to become so many: most searches need not count them.
            if changes < self._small_until.get(key, sizes.MANY_TEXTS):
                return False
            ((records,),) = connection.rows(
                f"SELECT count(*) FROM (SELECT 1 FROM {table_of(of).name}"  # noqa: S608
                " WHERE organization = ? LIMIT ?)",
                (number, sizes.MANY_TEXTS),
            )
        if records < sizes.MANY_TEXTS:
            self._small_until[key] = changes + sizes.MANY_TEXTS - records
            return False
        if not self._database.is_writing:
            self._large.add(key)
        return True
