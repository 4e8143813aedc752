"""The server engine: a PostgreSQL database that many processes, on many machines, share."""

import logging
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal

from minutebook.domain.errors import StoreError
from minutebook.domain.filters import Filter
from minutebook.domain.records import Edge, Record, TextRecord
from minutebook.search.text import TextQuery
from minutebook.store.housekeeper import Housekeeper
from minutebook.store.postgres import (
    change_feed,
    checks,
    distribution,
    embeddings,
    entity_names,
    remains,
    rows,
    transfer,
)
from minutebook.store.postgres.connections import Connection, Connections, place_of
from minutebook.store.postgres.embeddings import Spaces
from minutebook.store.postgres.indices import Indices
from minutebook.store.postgres.leases import PostgresLeases
from minutebook.store.postgres.probing import Probing
from minutebook.store.postgres.recall_rows import PostgresRecallRows
from minutebook.store.postgres.shared_values import PostgresSharedValues
from minutebook.store.postgres.snapshot import PostgresSnapshot
from minutebook.store.postgres.text_analysis import TextAnalysis
from minutebook.store.postgres.tidy_rows import PostgresTidyRows
from minutebook.store.postgres.token_uses import PostgresTokenUses
from minutebook.store.protocol import (
    Candidate,
    Change,
    Group,
    Moment,
    Placement,
    R,
    T,
    Tie,
    Vectors,
    VectorSpace,
    Writes,
)
from minutebook.store.sql.index_columns import is_by_id
from minutebook.store.sql.vector_rows import check_query, checked_rows
from minutebook.store.transaction_names import TransactionNames
from minutebook.store.transfer import Carried, Embedding, Gone, being_filled, check_may_receive

log = logging.getLogger(__name__)


class PostgresStore(Probing):
    """A `Store` in the database that a URL names, with indices in a folder of this machine.

    The folder may be deleted at any time. `durability="full"` waits until a write is on the server's
    disk; `"normal"` may lose the last moments when the server fails. Who writes, or needs a
    connection, waits `writer_wait` seconds; `pool` connections write at once, as many read, and as many
    read what takes long.
    Only one that `receives` can be opened while records are being moved into it. Raises InvalidInput if
    the URL is none, StoreTooNew if a later version made the tables, else StoreError.
    """

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
        self._url = url
        self._folder = folder
        self._durability = durability
        self._writer_wait = writer_wait
        self._pool = pool
        self._receives = receives
        self._place = place_of(url)
        self._names = TransactionNames()
        self._guard = threading.Lock()
        self._is_open = False
        self.open()

    def open(self) -> None:
        """Connect to the database, unless it is open; make its tables if there are none.

        Raises StoreTooNew if a later version made them, else StoreError.
        """
        with self._guard:
            if self._is_open:
                return
            self._connections = Connections(
                self._url,
                synchronous=self._durability == "full",
                writer_wait=self._writer_wait,
                size=self._pool,
            )
            if self._connections.is_receiving and not self._receives:
                self._connections.close()
                raise being_filled(self._place)
            self._spaces = Spaces(self._connections)
            self._housekeeper = Housekeeper(self._keep_house)
            self._indices = Indices(
                self._folder / self._connections.identity,
                self._connections,
                self._spaces,
                self._housekeeper.want,
            )
            entity_names.renew(self._connections)
            self._analysis = TextAnalysis(self._connections)
            self._is_open = True
            if not self._analysis.is_current():
                self._housekeeper.want()

    @property
    def is_open(self) -> bool:
        """Whether the database is open."""
        return self._is_open

    @contextmanager
    def transaction(self, *organizations: str) -> Iterator[None]:
        """Make what happens inside one atomic, durable write to the named organizations."""
        with self._names.within(organizations), self._connections.transaction(*organizations):
            yield

    @contextmanager
    def snapshot(self, *organizations: str) -> Iterator[PostgresSnapshot]:
        """Open a reader of these organizations as of the present moment.

        The server ends it when nothing was read for a quarter of an hour: StoreError.
        """
        numbers = self._connections.numbers_of(organizations)
        with self._connections.stream() as connection:
            change_feed.settle_moment(connection, numbers.values())
            yield PostgresSnapshot(connection, frozenset(organizations), numbers)

    def put(self, record: Record) -> None:
        """Keep a record in place of any with its organization, kind and id, and index its text."""
        with self._writing(record.organization) as (connection, number):
            rows.put(connection, number, record)

    def get(self, of: type[R], organization: str, id: str) -> R | None:
        """Return the record with an id, or None."""
        if (number := self._number_of(organization)) is None:
            return None
        with self._connections.reading() as connection:
            return rows.get(connection, number, of, organization, id)

    def find(
        self,
        of: type[R],
        where: Filter,
        *,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[R]:
        """Return the selected records, sorted by the fields of `order`, then by id."""
        if (number := self._number_of(where.organization)) is None:
            return []
        with self._connections.reading() as connection:
            return rows.find(connection, number, of, where, order, limit, offset)

    def values(
        self, of: type[Record], where: Filter, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some fields of each selected record, in no order. Raises AttributeError."""
        if (number := self._number_of(where.organization)) is None:
            return []
        with self._connections.reading() as connection:
            return rows.values(connection, number, of, where, fields)

    def page(
        self,
        of: type[R],
        wheres: Sequence[Filter],
        *,
        order: Sequence[str],
        limit: int,
        offset: int = 0,
    ) -> list[R]:
        """Return a page of what several selections hold together, in the order of `find`."""
        known = self._connections.numbers_of([where.organization for where in wheres])
        selections = [
            (known[where.organization], where) for where in wheres if where.organization in known
        ]
        with self._connections.snapshot() as connection:
            return rows.page(connection, of, selections, order, limit, offset)

    def each(self, of: type[R], where: Filter, order: Sequence[str]) -> Iterator[R]:
        """Yield the selected records one at a time, all as of one moment."""
        if (number := self._number_of(where.organization)) is None:
            return
        with self._connections.stream() as connection:
            yield from rows.each(connection, number, of, where, order)

    def ids(
        self, of: type[Record], where: Filter, order: Sequence[str], limit: int | None = None
    ) -> list[str]:
        """Return the ids of the selected records, in order."""
        if (number := self._number_of(where.organization)) is None:
            return []
        columns = self._indices.columns(number, of, where) if is_by_id(order) else None
        if columns is not None:
            return columns.ids(descending="-id" in order, limit=limit)
        with self._connections.reading() as connection:
            return rows.ids(connection, number, of, where, order, limit)

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        if (number := self._number_of(where.organization)) is None:
            return 0
        if (columns := self._indices.columns(number, of, where)) is not None:
            return columns.count()
        with self._connections.reading() as connection:
            return rows.count(connection, number, of, where)

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        """Put together the selected records that agree in some text fields, latest first."""
        if (number := self._number_of(where.organization)) is None:
            return []
        with self._connections.reading() as connection:
            return rows.groups(connection, number, of, where, by, span)

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        """Remove a record with its text index, vectors, versions and edges."""
        with self._writing(organization) as (connection, number):
            self.recalls.forget(connection, number, of, id)
            return rows.delete(connection, number, of, organization, id)

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        """Return the organizations that hold or have held a record, sorted; with `among`, only those in it."""
        self._check_open()
        if among is not None:
            return self._connections.with_records(among)
        with self._connections.reading() as connection:
            return change_feed.organizations(connection)

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that match the query by BM25."""
        number = self._number_of(where.organization)
        return [] if number is None else self._indices.match(number, of, where, query, limit)

    def matches_phrase(
        self, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        """Return the sorted ids of the selected records whose text holds the words as a phrase."""
        number = self._number_of(where.organization)
        return [] if number is None else self._indices.matches_phrase(number, of, where, words)

    def put_vectors(
        self,
        of: type[TextRecord],
        organization: str,
        id: str,
        space: VectorSpace,
        vectors: Vectors,
        states: bytes | None = None,
    ) -> None:
        """Keep vectors and token states of a record's text. Raises NotFound, InvalidInput."""
        rows = checked_rows(space, vectors, states)
        in_space = self._spaces.registered(space)
        with self._writing(organization) as (connection, number):
            embeddings.put(connection, number, of, id, space.states, in_space, rows, states)

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        """Return a record's vectors as they are kept, or None."""
        if (number := self._number_of(organization)) is None:
            return None
        with self._connections.reading() as connection:
            return embeddings.get(connection, number, of, id, self._spaces)

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        """Return the token states, by id, of those records that have any of that space and form."""
        number, in_space = self._number_of(organization), self._spaces.number_of(space)
        if number is None or in_space is None:
            return {}
        with self._connections.reading() as connection:
            return embeddings.states(connection, number, of, ids, in_space, space.states)

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        """Sum the bytes of the token states of an organization's records of a kind."""
        if (number := self._number_of(organization)) is None:
            return 0
        with self._connections.reading() as connection:
            return embeddings.states_size(connection, number, of)

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        """Return records without vectors of that space, of all organizations or of those in `among`."""
        numbers = None if among is None else self._connections.numbers_of(among).values()
        number = self._spaces.number_of(space)
        with self._connections.reading() as connection:
            return embeddings.without(connection, kinds, number, space.states, limit, numbers)

    def count_vectors(self, of: type[TextRecord], where: Filter, space: VectorSpace) -> int:
        """Count the selected records that have vectors of that space."""
        number, in_space = self._number_of(where.organization), self._spaces.number_of(space)
        if number is None or in_space is None:
            return 0
        with self._connections.reading() as connection:
            return embeddings.count(connection, number, of, where, in_space, space.states)

    def nearest(
        self,
        of: type[TextRecord],
        where: Filter,
        space: VectorSpace,
        vector: Vectors,
        limit: int,
        also: Collection[str] = (),
    ) -> list[Candidate]:
        """Rank the selected records by the cosine of their best part with a unit vector (d,)."""
        check_query(space, vector)
        if (number := self._number_of(where.organization)) is None:
            return []
        return self._indices.nearest(number, of, where, space, vector, limit, also)

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        """Return the edges that touch any of the nodes."""
        if (number := self._number_of(organization)) is None:
            return []
        with self._connections.reading() as connection:
            return rows.edges(connection, number, organization, nodes, limit)

    def beside(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return, by id, the ids that stand beside it in the order of ids, nearest first."""
        if (number := self._number_of(organization)) is None:
            return {}
        with self._connections.reading() as connection:
            return rows.beside(connection, number, of, ids, reach)

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the heaviest edges that touch any of the nodes, without the rest of their records."""
        if (number := self._number_of(organization)) is None:
            return []
        with self._connections.reading() as connection:
            return rows.ties(connection, number, nodes, limit)

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the selected entities of which a name occurs in the words."""
        if (number := self._number_of(where.organization)) is None:
            return []
        with self._connections.reading() as connection:
            return entity_names.entities_named(connection, number, where, words)

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        """Return the latest change of each record that changed after `since`, oldest first."""
        if (number := self._number_of(organization)) is None:
            return []
        with self._connections.reading() as connection:
            return change_feed.changes(connection, number, since, limit)

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""
        if (number := self._number_of(organization)) is None:
            return 0
        with self._connections.reading() as connection:
            return change_feed.sequence(connection, number)

    @property
    def recalls(self) -> PostgresRecallRows:
        """The recall log."""
        return PostgresRecallRows(self._connections)

    @property
    def tidy_rows(self) -> PostgresTidyRows:
        """The suggestions of how to put the records in order."""
        return PostgresTidyRows(self._connections)

    @property
    def token_uses(self) -> PostgresTokenUses:
        """The last use of each token."""
        return PostgresTokenUses(self._connections)

    @property
    def identity(self) -> str:
        """What tells this store from every other, wherever the database is."""
        return self._connections.identity

    def embeddings(
        self, of: type[TextRecord], organization: str, ids: Collection[str]
    ) -> dict[str, Embedding]:
        """Return, by id, the vectors and token states of those records that have vectors."""
        if (number := self._number_of(organization)) is None:
            return {}
        with self._connections.reading() as connection:
            return embeddings.whole(connection, number, of, ids, self._spaces)

    def begin_receiving(self, source: str) -> None:
        """Note that the records of a store are being moved here. Raises StoreError if others are here."""
        with self._connections.registering() as connection:
            check_may_receive(self._place, source, *transfer.state(connection))
            transfer.begin(connection, source)

    def has_all_of(self, source: str) -> bool:
        """Tell whether a move from a store, named by its identity, has ended and nobody wrote here since."""
        with self._connections.committed() as connection:
            return transfer.state(connection) == ((source, True), [])

    def received(self, organization: str) -> int:
        """Return the sequence of the source up to which an organization's changes were transferred."""
        if (number := self._number_of(organization)) is None:
            return 0
        with self._connections.reading() as connection:
            return transfer.received(connection, number)

    def receive(
        self, organization: str, carried: Sequence[Carried], gone: Sequence[Gone], up_to: int
    ) -> None:
        """Keep and remove records of an organization, and note how far that goes, in one transaction."""
        spaces = {each.embedding.space for each in carried if each.embedding is not None}
        numbers = {space: self._spaces.registered(space) for space in spaces}
        with (
            self.transaction(organization),
            self._connections.writing(organization) as (connection, number),
        ):
            for of, id in gone:
                rows.delete(connection, number, of, organization, id)
            rows.put_many(connection, number, carried, numbers)
            transfer.note_received(connection, number, up_to)

    def end_receiving(self) -> None:
        """Note that all is here, so that the store may be opened."""
        with self._connections.registering() as connection:
            transfer.end(connection)

    def check(self) -> list[str]:
        """Return what is wrong, a sentence each; nothing if all is sound. Reads everything."""
        return list(checks.contradictions(self._connections)) or list(self._indices.gaps())

    def rebuild(self) -> None:
        """Make the terms of texts and this machine's indices anew; damaged vectors and token states are removed, to be made anew."""
        embeddings.forget_damaged(self._connections)
        self._analysis.renew()
        self._indices.rebuild()

    def scrub(self) -> list[str]:
        """Make this machine's indices anew; return what only who runs the server can do."""
        self._indices.rebuild()
        return [
            "the server keeps removed rows until VACUUM FULL has written its tables anew, which locks each meanwhile: "
            "`minutebook erase --deleted --rewrite-tables` does that when nobody needs the store",
            *self._not_ours(),
        ]

    def rewrite_tables(self) -> list[str]:
        """Do the same, and have the server write its tables anew; return what is left.

        Raises StoreBusy if somebody uses a table for longer than a write waits.
        """
        self._indices.rebuild()
        with self._connections.committed() as connection:
            return [*remains.rewrite_tables(connection), *self._not_ours()]

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each table of the store with everything in its rows."""
        with self._connections.stream() as connection:
            yield from remains.contents(connection)

    def _not_ours(self) -> list[str]:
        return [
            "the server's log (WAL), its replicas, base backups and dumps keep what they held: let those "
            "of before now run out, or remove them; nothing here can prove that they did",
        ]

    def to_analyse(self) -> int:
        """Count the texts that have no terms of the present version; who needs them analyses the text."""
        return self._analysis.remaining()

    @property
    def writes(self) -> Writes:
        """The number of writes of this process and the time they took."""
        return self._connections.writes

    @property
    def place(self) -> str:
        """The database's URL without user and password."""
        return self._place

    @property
    def key(self) -> None:
        """None: whoever runs the server says how it keeps its files."""

    @property
    def recovery(self) -> str:
        """The remedy for lost records."""
        return "have the server recover the database as of an earlier moment"

    @property
    def leases(self) -> PostgresLeases:
        """The rows of the leases that all servers over the database share."""
        return PostgresLeases(self._connections)

    @property
    def shared_values(self) -> PostgresSharedValues:
        """The values that all servers over the database share."""
        return PostgresSharedValues(self._connections)

    @property
    def sync_rows(self) -> None:
        """None: who uses a server from several machines has one store."""

    def size(self) -> int:
        """Return the size in bytes of the database and of this machine's indices."""
        with self._connections.committed() as connection:
            of_database = distribution.size(connection)
        files = (path for path in self._indices.folder.glob("*/*") if path.is_file())
        return of_database + sum(path.stat().st_size for path in files)

    def placement(self) -> Placement:
        """Return on how many machines the records are."""
        with self._connections.committed() as connection:
            return distribution.placement(connection)

    def file_faults(self) -> list[tuple[str, str]]:
        """Return which tables are not where they belong and which nodes cannot be reached."""
        with self._connections.committed() as connection:
            return distribution.faults(connection)

    def distribution_plan(self, shards: int) -> list[str]:
        """Return the statements by which `distribute` places what is not placed yet.

        Raises StoreError if the database has no Citus, or is not that of the coordinator.
        """
        with self._connections.committed() as connection:
            return distribution.plan(connection, self._place, shards)

    def distribute(self, shards: int) -> list[str]:
        """Spread the tables over the nodes of the cluster, all or none; return what was done.

        Writers wait meanwhile. Raises StoreError if the database has no Citus, or is not that of the
        coordinator, StoreBusy if another process writes for too long.
        """
        with self._connections.registering() as connection:
            return distribution.distribute(connection, self._place, shards)

    def moment(self) -> AbstractContextManager[Moment]:
        """Raise StoreError: a server's database is copied by its own means."""
        raise StoreError(
            "{place} is no file that could be copied: have it backed up on the server for recovery to any point "
            "in time (pg_basebackup with its log, pgBackRest, or what the service that runs it offers), and with "
            "it the ledgers, which are Git repositories in the folder that ledgers_folder names; `minutebook "
            "export` writes the records to a file",
            place=self._place,
        )

    def close(self) -> None:
        """Close the engine; later calls raise StoreClosed until it is opened again."""
        with self._guard:
            if not self._is_open:
                return
            self._is_open = False
            self._housekeeper.stop()
            try:
                self._indices.save()
            except StoreError as error:
                # Whoever opens the store next reads the changes again.
                log.warning("the indices are not saved: %s", error)
            finally:
                self._connections.close()

    def _number_of(self, organization: str) -> int | None:
        self._check_open()
        return self._connections.number_of(organization)

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Connection, int]]:
        self._names.check(organization)
        with self._connections.writing(organization) as lent:
            yield lent

    def _keep_house(self) -> None:
        self._indices.save()
        if self._analysis.advance():
            self._housekeeper.want()
