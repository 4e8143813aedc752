"""The store as it was at one moment."""

from collections.abc import Iterator

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import Kind, Record
from minutebook.store.sqlite import feed, rows


class Moment:
    """A `Snapshot` on a connection that is inside a reading transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def organizations(self) -> list[str]:
        """Name the organizations that held a record, sorted."""
        return feed.organizations(self._connection)

    def count(self, kind: Kind, where: Filter) -> int:
        """Count the selected records."""
        return rows.count(self._connection, kind, where)

    def each(self, kind: Kind, where: Filter) -> Iterator[Record]:
        """Give the selected records one at a time, by id."""
        return rows.each(self._connection, kind, where, ())
