"""Some organizations as they were at one moment."""

from collections.abc import Iterator, Mapping, Sequence

from minutebook.domain.filters import Filter
from minutebook.domain.records import Entity, Record
from minutebook.store.sql import entity_names, rows
from minutebook.store.sql.database import Connection
from minutebook.store.transaction_names import check_in_snapshot
from minutebook.store.values import R


class SqlSnapshot:
    """A `Snapshot` on a connection that is inside a reading transaction."""

    def __init__(
        self, connection: Connection, organizations: frozenset[str], numbers: Mapping[str, int]
    ) -> None:
        self._connection = connection
        self._organizations = organizations
        self._numbers = numbers

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        return rows.count(self._connection, self._number_of(where.organization), of, where)

    def each(self, of: type[R], where: Filter, order: Sequence[str] = ()) -> Iterator[R]:
        """Yield the selected records one at a time, in order, then by id."""
        return rows.each(self._connection, self._number_of(where.organization), of, where, order)

    def wrong_names(self, organization: str) -> list[str]:
        """Return the sorted ids of the entities that are listed otherwise than under their names and aliases."""
        entities = self.each(Entity, Filter(organization=organization))
        return entity_names.wrong(self._connection, self._number_of(organization), entities)

    def _number_of(self, organization: str) -> int | None:
        check_in_snapshot(self._organizations, organization)
        return self._numbers.get(organization)
