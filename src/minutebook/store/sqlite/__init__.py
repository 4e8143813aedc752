"""The embedded engine: one SQLite file that any number of processes share."""

import logging
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import apsw

from minutebook.disk.encryption import Key, Keys
from minutebook.disk.network_files import network_type
from minutebook.domain.errors import StoreBusy
from minutebook.domain.filters import Filter
from minutebook.domain.records import TEXT_CLASSES, Edge, Record, TextRecord
from minutebook.search.text import TextQuery
from minutebook.store.housekeeper import Housekeeper
from minutebook.store.protocol import (
    Candidate,
    Change,
    Group,
    R,
    T,
    Tie,
    Vectors,
    VectorSpace,
    Writes,
)
from minutebook.store.sidecar.words import by_word
from minutebook.store.sql.index_columns import is_by_id
from minutebook.store.sql.vector_rows import check_query
from minutebook.store.sqlite import (
    change_feed,
    checks,
    embeddings,
    entity_names,
    log_damage,
    rows,
    text_analysis,
    texts,
    transfer,
)
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.counts import Counts
from minutebook.store.sqlite.encryption import key_of
from minutebook.store.sqlite.errors import damaged
from minutebook.store.sqlite.indices import Indices
from minutebook.store.sqlite.missing_database import check_not_lost
from minutebook.store.sqlite.recall_rows import SqliteRecallRows
from minutebook.store.sqlite.snapshot import SqliteMoment, SqliteSnapshot
from minutebook.store.sqlite.sync_rows import SqliteSyncRows
from minutebook.store.sqlite.tidy_rows import SqliteTidyRows
from minutebook.store.sqlite.token_uses import SqliteTokenUses
from minutebook.store.transaction_names import TransactionNames
from minutebook.store.transfer import Carried, Embedding, Gone, being_filled, check_may_receive

_PATIENCE = 0.1
"""Seconds for which work in the background waits for its turn to write."""

log = logging.getLogger(__name__)


class SqliteStore:
    """A `Store` in one file, with a write-ahead log, a lock file and an index folder beside it.

    `durability="full"` waits until a write is on the disk; `"normal"` may lose the last moments
    when the machine (not the process) fails. A writer waits `writer_wait` seconds for others.
    Opening raises StoreError, StoreTooNew, StoreBusy or StoreDamaged, and StoreLost for a missing
    or empty file if its own traces, or files or folders of `beside`, show that there was a store. Only
    one that `receives` can be opened while records are being moved into it. The key of an encrypted file
    is taken from `keys`, or EncryptionKeyMissing is raised; a file that is made is encrypted with `new_key`.
    """

    def __init__(
        self,
        path: Path,
        *,
        durability: Literal["full", "normal"] = "full",
        writer_wait: float = 30.0,
        beside: Sequence[Path] = (),
        receives: bool = False,
        keys: Keys | None = None,
        new_key: Key | None = None,
    ) -> None:
        self._keys = keys
        self._new_key = new_key
        self._path = path
        self._durability = durability
        self._writer_wait = writer_wait
        self._beside = tuple(beside)
        self._receives = receives
        self._guard = threading.Lock()
        self._names = TransactionNames()
        self._is_open = False
        self.open()

    def open(self) -> None:
        """Open the file, unless it is open.

        Raises StoreTooNew if a later version wrote it, StoreBusy if another process keeps it,
        StoreLost if it vanished, else StoreError.
        """
        with self._guard:
            if self._is_open:
                return
            check_not_lost(self._path, self._beside)
            housekeeper = Housekeeper(self._keep_house)
            is_there = self._path.is_file() and self._path.stat().st_size
            self._connections = Connections(
                self._path,
                key=key_of(self._path, self._keys) if is_there else self._new_key,
                synchronous=self._durability,
                writer_wait=self._writer_wait,
                want_checkpoint=housekeeper.want,
            )
            try:
                self._check_whole()
                self._indices = Indices(self._path, self._connections, housekeeper.want)
                self._counts = Counts(self._indices.columns)
                is_behind = bool(self.to_analyse())
            except BaseException:
                self._connections.close()
                raise
            self._housekeeper = housekeeper
            self._is_open = True
            for sentence, remedy in self.file_faults():
                log.warning("%s Remedy: %s", sentence, remedy)
            if is_behind:
                housekeeper.want()

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._is_open

    @contextmanager
    def transaction(self, *organizations: str) -> Iterator[None]:
        """Make what happens inside one atomic, durable write to the organizations named."""
        with self._names.within(organizations), self._connections.transaction():
            yield

    @contextmanager
    def snapshot(self, *organizations: str) -> Iterator[SqliteSnapshot]:
        """Open a reader of these organizations as of the present moment; it may stay open long."""
        with self._connections.dedicated_snapshot() as connection:
            yield SqliteSnapshot(connection, frozenset(organizations))

    @contextmanager
    def moment(self) -> Iterator[SqliteMoment]:
        """Open a snapshot of the whole file that can be copied; it may stay open long."""
        with self._connections.dedicated_snapshot() as connection:
            yield SqliteMoment(connection, self._connections.key)

    def put(self, record: Record) -> None:
        """Keep a record in place of any with its organization, kind and id, and index its text."""
        with self._writing(record.organization) as connection:
            rows.put(connection, record)

    def get(self, of: type[R], organization: str, id: str) -> R | None:
        """Return the record with an id, or None."""
        with self._connections.reading() as connection:
            return rows.get(connection, of, organization, id)

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
        if limit is not None:
            where = self._indices.named(of, where, order, offset + limit)
        with self._connections.reading() as connection:
            return list(rows.each(connection, of, where, order, limit, offset))

    def values(
        self, of: type[Record], where: Filter, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some fields of each selected record, in no order. Raises AttributeError."""
        with self._connections.reading() as connection:
            return rows.values(connection, of, where, fields)

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
        chosen = [self._indices.named(of, where, order, offset + limit) for where in wheres]
        with self._connections.snapshot() as connection:
            return rows.page(connection, of, chosen, order, limit, offset)

    def each(self, of: type[R], where: Filter, order: Sequence[str]) -> Iterator[R]:
        """Yield the selected records one at a time, all as of one moment."""
        with self._connections.dedicated() as connection:
            yield from rows.each(connection, of, where, order)

    def ids(
        self, of: type[Record], where: Filter, order: Sequence[str], limit: int | None = None
    ) -> list[str]:
        """Return the ids of the selected records, in order."""
        columns = self._indices.columns(of, where) if is_by_id(order) else None
        if columns is not None:
            return columns.ids(descending="-id" in order, limit=limit)
        with self._connections.reading() as connection:
            return rows.ids(connection, of, where, order, limit)

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        with self._connections.reading() as connection:
            return self._counts.count(connection, of, where)

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        """Put together the selected records that agree in some text fields, latest first."""
        with self._connections.reading() as connection:
            return rows.groups(connection, of, where, by, span)

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        """Remove a record with its text index, vectors, versions and edges."""
        with self._writing(organization) as connection:
            self.recalls.forget(connection, organization, of, id)
            return rows.delete(connection, of, organization, id)

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        """Return the organizations that hold or have held a record, sorted."""
        with self._connections.reading() as connection:
            return change_feed.organizations(connection, among)

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that match the query by BM25."""
        found = self._indices.match(of, where, query, limit)
        if found is None:
            with self._connections.snapshot() as connection:
                found = texts.match(connection, of, where, query, limit)
        return by_word(found, query)

    def matches_phrase(
        self, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        """Return the sorted ids of the selected records whose text holds the words as a phrase."""
        with self._connections.snapshot() as connection:
            return texts.matches_phrase(connection, of, where, words)

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
        with self._writing(organization) as connection:
            embeddings.put(connection, of, organization, id, space, vectors, states)

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        """Return a record's vectors as they are kept, or None."""
        with self._connections.reading() as connection:
            return embeddings.get(connection, of, organization, id)

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        """Return the token states, by id, of those records that have any of that space and form."""
        with self._connections.snapshot() as connection:
            return embeddings.states(connection, of, organization, ids, space)

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        """Sum the bytes of the token states of an organization's records of a kind."""
        with self._connections.reading() as connection:
            return embeddings.states_size(connection, of, organization)

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        """Return records that lack vectors of that space or states of its form, by kind."""
        with self._connections.snapshot() as connection:
            return embeddings.without(connection, kinds, space, limit, among)

    def count_vectors(self, of: type[TextRecord], where: Filter, space: VectorSpace) -> int:
        """Count the selected records that have vectors of that space and states of its form."""
        columns = None if space.states else self._indices.columns(of, where, space)
        if columns is not None:
            return columns.count()
        with self._connections.snapshot() as connection:
            return embeddings.count(connection, of, where, space)

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
        return self._indices.nearest(of, where, space, vector, limit, also)

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        """Return the edges that touch any of the nodes."""
        with self._connections.snapshot() as connection:
            return rows.edges(connection, organization, nodes, limit)

    def beside(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return, by id, the ids that stand beside it in the order of ids, nearest first."""
        with self._connections.snapshot() as connection:
            return rows.beside(connection, of, organization, ids, reach)

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the heaviest edges that touch any of the nodes, without the rest of their records."""
        with self._connections.snapshot() as connection:
            return rows.ties(connection, organization, nodes, limit)

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the selected entities of which a name occurs in the words."""
        with self._connections.snapshot() as connection:
            return entity_names.entities_named(connection, where, words)

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        """Return the latest change of each record that changed after `since`, oldest first."""
        with self._connections.reading() as connection:
            return change_feed.changes(connection, organization, since, limit)

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""
        with self._connections.reading() as connection:
            return change_feed.sequence(connection, organization)

    @property
    def recalls(self) -> SqliteRecallRows:
        """The recall log."""
        return SqliteRecallRows(self._connections)

    @property
    def tidy_rows(self) -> SqliteTidyRows:
        """The suggestions of how to put the records in order."""
        return SqliteTidyRows(self._connections)

    @property
    def token_uses(self) -> SqliteTokenUses:
        """The last use of each token."""
        return SqliteTokenUses(self._connections)

    @property
    def sync_rows(self) -> SqliteSyncRows:
        """What is known of the machines with which the file is kept in step."""
        return SqliteSyncRows(self._connections)

    @property
    def identity(self) -> str:
        """What tells this store from every other, wherever its file is."""
        with self._connections.reading() as connection:
            return str(connection.execute("SELECT id FROM identity").get)

    def embeddings(
        self, of: type[TextRecord], organization: str, ids: Collection[str]
    ) -> dict[str, Embedding]:
        """Return, by id, the vectors and token states of those records that have vectors."""
        with self._connections.snapshot() as connection:
            return transfer.embeddings(connection, of, organization, ids)

    def begin_receiving(self, source: str) -> None:
        """Note that the records of a store are being moved here. Raises StoreError if others are here."""
        with self._connections.writing() as connection:
            check_may_receive(self.place, source, *transfer.state(connection))
            transfer.begin(connection, source)

    def has_all_of(self, source: str) -> bool:
        """Tell whether a move from a store, named by its identity, has ended and nobody wrote here since."""
        with self._connections.reading() as connection:
            return transfer.state(connection) == ((source, True), [])

    def received(self, organization: str) -> int:
        """Return the sequence of the source up to which an organization's changes were transferred."""
        with self._connections.reading() as connection:
            return transfer.received(connection, organization)

    def receive(
        self, organization: str, carried: Sequence[Carried], gone: Sequence[Gone], up_to: int
    ) -> None:
        """Keep and remove records of an organization, and note how far that goes, in one transaction."""
        with self.transaction(organization), self._connections.writing() as connection:
            for of, id in gone:
                rows.delete(connection, of, organization, id)
            for each in carried:
                rows.put(connection, each.record)
                if isinstance(each.record, TextRecord):
                    embeddings.replace(connection, each.record, each.embedding)
            transfer.note_received(connection, organization, up_to)

    def end_receiving(self) -> None:
        """Note that all is here, so that the store may be opened."""
        with self._connections.writing() as connection:
            transfer.end(connection)

    def check(self) -> list[str]:
        """Return what is wrong, a sentence each; nothing if all is sound.

        What is derived is looked at only when what it is derived from is sound. Reads everything:
        some seconds for 100,000 records.
        """
        # A connection that searched before keeps a picture of the text index, and would take for
        # damage what another process has merged since.
        with self._connections.dedicated() as connection:
            wrong = list(checks.pages(connection))
        if not wrong:
            with self._connections.snapshot() as connection:
                wrong = [*checks.contradictions(connection), *texts.gaps(connection)]
        return wrong or list(self._indices.gaps())

    def rebuild(self) -> None:
        """Make SQLite's own indices, the text indices and those of the folder anew from the records.

        Raises StoreDamaged if rows contradict one another.
        """
        with self._connections.writing() as connection:
            try:
                connection.execute("REINDEX")
            except apsw.ConstraintError as error:
                raise damaged(
                    "{path}: two rows have one key ({error})", path=self._path, error=error
                ) from error
        with self._connections.writing() as connection:
            for of in TEXT_CLASSES.values():
                embeddings.forget_damaged(connection, of)
            texts.rebuild(connection)
        self._indices.rebuild()

    def scrub(self) -> list[str]:
        """Leave nothing of what was removed in text indices, file, log and the indices beside it; return nothing.

        Copies of a damaged log go too, since they may hold it.
        Raises StoreBusy if somebody reads an old state for too long, StoreError if a file cannot be written.
        """
        with self._connections.writing() as connection:
            texts.purge(connection)
            # Other machines have yet to hear of them, or know them by these ids.
            if not self.sync_rows.remotes():
                change_feed.forget_links(connection)
        self._connections.rewrite()
        self._indices.scrub()
        for copy in log_damage.kept(self._path):
            log.warning("%s is removed, since it may hold what was erased.", copy)
            copy.unlink()
        return []

    def rewrite_tables(self) -> list[str]:
        """Do what `scrub` does: the tables are in the file."""
        return self.scrub()

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield nothing: who searches the file finds all."""
        yield from ()

    def to_analyse(self) -> int:
        """Count the texts whose text index is being made anew, as another version analysed them."""
        with self._connections.reading() as connection:
            return text_analysis.remaining(connection)

    def check_answers(self) -> None:
        """Raise StoreError unless the file can be read at this moment."""
        self.organizations(())

    def check_writes(self) -> None:
        """Raise StoreError unless the file commits a write at this moment, StoreBusy where others write just now."""
        with self._connections.writing(wait=1.0) as connection:
            # The same number again, which is a page of the log all the same.
            connection.pragma("user_version", connection.pragma("user_version"))

    def placement(self) -> None:
        """Return None: the records are in a file."""

    def file_faults(self) -> list[tuple[str, str]]:
        """Return what is wrong with the place of the file or was with its log, with the remedies.

        The place is wrong where several machines can have the file at once.
        """
        found = [
            (
                f"The write-ahead log of {self._path} was damaged: writes behind the damage were acknowledged "
                f"and could not be read. The log as it was is kept as {copy.name}.",
                "compare with `minutebook audit` what is missing, bring it back from a backup "
                "(`minutebook restore`) or write it anew, then remove that file",
            )
            for copy in log_damage.kept(self._path)
        ]
        kind = network_type(self._path)
        if kind is None:
            return found
        return [
            *found,
            (
                f"{self._path} is on a network file system ({kind}), where the locks of two machines "
                "do not see each other: used by both at once, the database would be damaged.",
                "keep the data directory on a disk of this machine (`--home`); several machines use a "
                "PostgreSQL server (the setting `store`), or `minutebook sync`",
            ),
        ]

    @property
    def writes(self) -> Writes:
        """The number of writes of this process and the time they took."""
        return self._connections.writes

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self._path)

    @property
    def key(self) -> Key | None:
        """The key that the file is encrypted with, None if it is plain."""
        return self._connections.key

    @property
    def recovery(self) -> str:
        """The remedy for lost records."""
        return "restore a backup"

    @property
    def leases(self) -> None:
        """None: processes that share a file share a machine, where files lock better."""

    @property
    def shared_values(self) -> None:
        """None: processes that share a file share its data directory."""

    def size(self) -> int:
        """Return the size on disk in bytes, write-ahead log and indices included."""
        return sum(path.stat().st_size for path in self._files() if path.is_file())

    def close(self) -> None:
        """Close the engine; later calls raise StoreClosed until it is opened again."""
        with self._guard:
            self._is_open = False
            self._indices.stop()
            self._housekeeper.stop()
            self._indices.save()
            self._connections.close()

    @contextmanager
    def _writing(self, organization: str) -> Iterator[apsw.Connection]:
        self._names.check(organization)
        with self._connections.writing() as connection:
            yield connection

    def _check_whole(self) -> None:
        """Raise StoreError if records are being moved here and this is not who moves them."""
        with self._connections.reading() as connection:
            if transfer.is_under_way(connection) and not self._receives:
                raise being_filled(self.place)

    def _keep_house(self) -> None:
        self._connections.checkpoint()
        self._indices.keep_up()
        if self.to_analyse():
            # Whoever else writes comes first, and a process that ends does not wait for them.
            with suppress(StoreBusy), self._connections.writing(_PATIENCE) as connection:
                text_analysis.advance(connection)
            self._housekeeper.want()

    def _files(self) -> Iterator[Path]:
        yield from (self._path.with_name(self._path.name + end) for end in ("", "-wal", "-shm"))
        yield from self._indices.folder.glob("*/*")
