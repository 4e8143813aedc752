"""The server engine: a PostgreSQL database that many processes, on many machines, share."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Literal

from minutebook.config import Settings
from minutebook.domain.errors import StoreError
from minutebook.domain.filters import Filter
from minutebook.domain.records import TextRecord
from minutebook.features.postgres import distribution, remains
from minutebook.features.postgres.connections import Connections
from minutebook.features.postgres.leases import PostgresLeases
from minutebook.features.postgres.shared_values import PostgresSharedValues
from minutebook.features.postgres.text_analysis import TextAnalysis
from minutebook.search.text import ANALYSIS, TextQuery, terms
from minutebook.store.protocol import Moment
from minutebook.store.sidecar.phrases import holding_all, match_phrases
from minutebook.store.sidecar.words import match
from minutebook.store.sql import change_feed, entity_names, rows
from minutebook.store.sql.embeddings import forget_damaged
from minutebook.store.sql.indices import Indices
from minutebook.store.sql.store import SqlStore
from minutebook.store.values import Candidate, Placement, T

_WRITE = "SELECT current_setting('transaction_read_only')::bool, pg_logical_emit_message(true, 'minutebook', '')"
"""Writes to the log of the server, and to no table; a server that only reads refuses it or says so."""

_BATCH = 1000


def opened(settings: Settings, url: str, *, receives: bool = False) -> "PostgresStore":
    """Open the store in the database that a URL names. Raises InvalidInput, StoreError."""
    return PostgresStore(
        url,
        settings.server_index,
        durability=settings.durability,
        writer_wait=settings.writer_wait,
        pool=settings.store_pool,
        receives=receives,
    )


class PostgresStore(SqlStore):
    """A `Store` in the database that a URL names, with indices in a folder of this machine.

    The folder may be deleted at any time. `durability="full"` waits until a write is on the server's
    disk; `"normal"` may lose the last moments when the server fails. Who writes, or needs a
    connection, waits `writer_wait` seconds; `pool` connections write at once, as many read, and as many
    read what takes long.
    Only one that `receives` can be opened while records are being moved into it. Raises InvalidInput if
    the URL is none, StoreTooNew if a later version made the tables, else StoreError.
    """

    recovery = "have the server recover the database as of an earlier moment"

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        durability: Literal["full", "normal"] = "full",
        writer_wait: float = 30.0,
        pool: int = 8,
        receives: bool = False,
    ) -> None:
        self._folder = folder
        self._connections = Connections(
            url, synchronous=durability == "full", writer_wait=writer_wait, size=pool
        )
        super().__init__(self._connections, receives=receives)

    def _prepare(self, want: Callable[[], None]) -> Indices:
        self._list_names()
        self._analysis = TextAnalysis(self._connections)
        folder = self._folder / self._connections.identity
        return Indices(folder, self._connections, self._spaces, want)

    def _list_names(self) -> None:
        """List every entity anew, organization by organization, if another analysis made the words."""
        with self._connections.committed() as connection:
            if connection.row("SELECT analysis FROM identity") == (ANALYSIS,):
                return
            names = change_feed.organizations(connection)
        for organization in names:
            with self._connections.writing(organization) as (connection, number):
                entity_names.keep_all(connection, number)
        # If this does not happen, the next who opens the store begins again.
        with self._connections.registering() as connection:
            connection.run("UPDATE identity SET analysis = ?", (ANALYSIS,))

    def _ranked(
        self, number: int, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        if not query.phrases:
            asked = self._indices.conditions(number, of, where)
            return match(self._indices.words(number, of), asked, query.terms, limit)
        view = self._indices.words(number, of)
        everything = Filter(organization=where.organization, with_deleted=True)
        with self._connections.reading() as connection:
            allowed = rows.ids(connection, number, of, where)

        def texts(ids: Collection[str]) -> Mapping[str, Sequence[str]]:
            return {each.id: terms(each.text) for each in self._some(of, everything, ids)}

        return match_phrases(view, query, allowed, texts, limit)

    def _holding(
        self, number: int, of: type[T], where: Filter, phrase: Sequence[str]
    ) -> Iterator[T]:
        return self._some(of, where, holding_all(self._indices.words(number, of), phrase))

    def _some(self, of: type[T], where: Filter, ids: Collection[str]) -> Iterator[T]:
        """Yield those of some records that are selected."""
        chosen = sorted(ids if where.ids is None else where.ids.intersection(ids))
        for start in range(0, len(chosen), _BATCH):
            batch = frozenset(chosen[start : start + _BATCH])
            yield from self.find(of, replace(where, ids=batch))

    def rebuild(self) -> None:
        """Make the terms of texts and this machine's indices anew; damaged vectors and token states are removed, to be made anew."""
        with self._connections.committed() as connection:
            forget_damaged(connection)
        self._analysis.renew()
        self._indices.rebuild()

    def scrub(self) -> list[str]:
        """Make this machine's indices anew; return the steps left to the server's administrator."""
        self._indices.rebuild()
        return [
            "the server keeps removed rows until VACUUM FULL has written its tables anew, which locks each meanwhile: "
            "`minutebook erase --deleted --rewrite-tables` does that when nobody needs the store",
            *self._not_ours(),
        ]

    def rewrite_tables(self) -> list[str]:
        """Do the same, and have the server write its tables anew; return the steps left.

        Raises StoreBusy if somebody uses a table for longer than a write waits.
        """
        self._indices.rebuild()
        with self._connections.committed() as connection:
            return [*remains.rewrite_tables(connection.raw), *self._not_ours()]

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each table of the store with everything in its rows."""
        with self._connections.stream() as connection:
            yield from remains.contents(connection.raw)

    def _not_ours(self) -> list[str]:
        return [
            "the server's log (WAL), its replicas, base backups and dumps keep what they held: let those "
            "of before now run out, or remove them; nothing here can prove that they did",
        ]

    def to_analyse(self) -> int:
        """Count the texts that have no terms of the present version; a search that needs them analyses the text."""
        return self._analysis.remaining()

    def check_writes(self) -> None:
        """Raise StoreError unless the database commits a write at this moment."""
        with self._connections.registering() as connection:
            if connection.rows(_WRITE)[0][0]:
                raise StoreError("{place}: the database is read-only", place=self.place)

    @property
    def leases(self) -> PostgresLeases:
        """The rows of the leases that all servers over the database share."""
        return PostgresLeases(self._connections)

    @property
    def shared_values(self) -> PostgresSharedValues:
        """The values that all servers over the database share."""
        return PostgresSharedValues(self._connections)

    def placement(self) -> Placement:
        """Return on how many machines the records are."""
        with self._connections.committed() as connection:
            return distribution.placement(connection.raw)

    def file_faults(self) -> list[tuple[str, str]]:
        """Return which tables are not where they belong and which nodes cannot be reached."""
        with self._connections.committed() as connection:
            return distribution.faults(connection.raw)

    def distribution_plan(self, shards: int) -> list[str]:
        """Return the statements by which `distribute` places the tables not placed yet.

        Raises StoreError if the database has no Citus, or is not that of the coordinator.
        """
        with self._connections.committed() as connection:
            return distribution.plan(connection.raw, self.place, shards)

    def distribute(self, shards: int) -> list[str]:
        """Spread the tables over the nodes of the cluster, all or none; return the steps done.

        Writers wait meanwhile. Raises StoreError if the database has no Citus, or is not that of the
        coordinator, StoreBusy if another process writes for too long.
        """
        with self._connections.registering() as connection:
            return distribution.distribute(connection.raw, self.place, shards)

    def moment(self) -> AbstractContextManager[Moment]:
        """Raise StoreError: a server's database is copied by its own means."""
        raise StoreError(
            "{place} is no file that could be copied: have it backed up on the server for recovery to any point "
            "in time (pg_basebackup with its log, pgBackRest, or what the service that runs it offers), and with "
            "it the ledgers, which are Git repositories in the folder that ledgers_folder names; `minutebook "
            "export` writes the records to a file",
            place=self.place,
        )

    def _keep_house(self) -> None:
        if not self._is_open:
            return
        self._indices.save()
        if self._analysis.advance():
            self._housekeeper.want()
