"""The server engine: a PostgreSQL database that many processes, on many machines, share."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from minutebook.config import Settings
from minutebook.config.stores import WRITER_WAIT
from minutebook.features.postgres.connections import PostgresConnections
from minutebook.features.postgres.upkeep import PostgresUpkeep
from minutebook.record.filters import Filter
from minutebook.record.records import TextRecord
from minutebook.store.sidecar.phrases import holding_all, match_phrases
from minutebook.store.sidecar.words import match
from minutebook.store.sql import rows
from minutebook.store.sql.store import SqlStore
from minutebook.store.values import Candidate, T
from minutebook.text.words import TextQuery, terms

_BATCH = 1000


def opened(settings: Settings, url: str, *, receives: bool = False) -> "PostgresStore":
    """Open the store in the database that a URL names. Raises InvalidInput, StoreError."""
    return PostgresStore(
        url,
        settings.server_index,
        durability=settings.durability,
        writer_wait=WRITER_WAIT,
        receives=receives,
    )


class PostgresStore(SqlStore):
    """A `Store` in the database that a URL names, with indices in a folder of this machine.

    The folder may be deleted at any time. With `durability="full"` a write waits until it is on the server's
    disk; with `"normal"` the last writes may be lost if the server fails. A writer, or a thread that needs a
    connection, waits `writer_wait` seconds at most. Each of the three pools has `pool` connections.
    While records are being moved into the store it can be opened only with `receives`. Raises InvalidInput for an
    invalid URL, StoreTooNew if a later version made the tables, else StoreError.
    """

    database: PostgresConnections
    upkeep: PostgresUpkeep

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        durability: Literal["full", "normal"] = "full",
        writer_wait: float = WRITER_WAIT,
        pool: int = 8,
        receives: bool = False,
    ) -> None:
        connections = PostgresConnections(
            url, synchronous=durability == "full", writer_wait=writer_wait, size=pool
        )
        super().__init__(PostgresUpkeep(folder, connections, receives=receives))

    def _ranked(
        self, number: int, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        if not query.phrases:
            asked = self.upkeep.indices.conditions(number, of, where)
            return match(self.upkeep.indices.words(number, of), asked, query.terms, limit)
        view = self.upkeep.indices.words(number, of)
        everything = Filter(organization=where.organization, with_deleted=True)
        with self.database.reading() as connection:
            allowed = rows.ids(connection, number, of, where)

        def texts(ids: Collection[str]) -> Mapping[str, Sequence[str]]:
            return {each.id: terms(each.text) for each in self._some(of, everything, ids)}

        return match_phrases(view, query, allowed, texts, limit)

    def _holding(
        self, number: int, of: type[T], where: Filter, phrase: Sequence[str]
    ) -> Iterator[T]:
        return self._some(of, where, holding_all(self.upkeep.indices.words(number, of), phrase))

    def _some(self, of: type[T], where: Filter, ids: Collection[str]) -> Iterator[T]:
        """Yield the records of some ids that a filter selects, in batches of _BATCH."""
        chosen = sorted(ids if where.ids is None else where.ids.intersection(ids))
        for start in range(0, len(chosen), _BATCH):
            batch = frozenset(chosen[start : start + _BATCH])
            yield from self.find(of, replace(where, ids=batch))
