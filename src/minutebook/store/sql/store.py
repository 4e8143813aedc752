"""A `Store` in a database: the common part of all engines, by one body of SQL."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minutebook.disk.encryption import Key
from minutebook.domain.errors import StoreClosed, StoreError
from minutebook.domain.filters import Filter
from minutebook.domain.records import Edge, Record, TextRecord
from minutebook.search import text as analysis
from minutebook.search.text import TextQuery
from minutebook.store.housekeeper import Housekeeper
from minutebook.store.leases import LeaseRows
from minutebook.store.shared_values import SharedValues
from minutebook.store.sidecar.phrases import holds_in_a_row
from minutebook.store.sidecar.words import by_word
from minutebook.store.sql import (
    change_feed,
    embeddings,
    entity_names,
    rows,
    side_tables,
    transfer,
)
from minutebook.store.sql.checks import contradictions
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.index_columns import is_by_id
from minutebook.store.sql.indices import Indices
from minutebook.store.sql.snapshot import SqlSnapshot
from minutebook.store.sql.spaces import Spaces
from minutebook.store.sql.token_uses import SqlTokenUses
from minutebook.store.sql.vector_rows import check_query, checked_rows
from minutebook.store.transaction_names import TransactionNames
from minutebook.store.transfer import being_filled, check_may_receive
from minutebook.store.values import (
    Candidate,
    Carried,
    Change,
    Embedding,
    Gone,
    Group,
    Placement,
    R,
    T,
    Tie,
    Vectors,
    VectorSpace,
    Writes,
)

log = logging.getLogger(__name__)


class SqlStore(ABC):
    """A `Store` in a database, with indices in a folder of this machine.

    Only one that `receives` can be opened while records are being moved into it.
    """

    _indices: Indices
    _spaces: Spaces
    _housekeeper: Housekeeper

    def __init__(self, database: Database, *, receives: bool) -> None:
        self.database = database
        self._receives = receives
        self._guard = threading.Lock()
        self._names = TransactionNames()
        self._with_records: set[str] = set()
        self._is_open = False
        self.open()

    @abstractmethod
    def _prepare(self, want: Callable[[], None]) -> Indices:
        """Open the indices of an open database, and do the preparation first."""

    def _first_named(
        self, number: int, of: type[Record], where: Filter, order: Sequence[str], needed: int
    ) -> Filter:
        """Add to a Filter the ids of those that come first, where SQL would look at many rows for them."""
        return where

    @abstractmethod
    def _keep_house(self) -> None:
        """Do the upkeep that writers should not wait for."""

    @abstractmethod
    def to_analyse(self) -> int:
        """Count the texts with a text index that is being made anew, as another version analysed them."""

    def open(self) -> None:
        """Open the store, unless it is open. Raises StoreTooNew if a later version wrote it, else StoreError."""
        with self._guard:
            if self._is_open:
                return
            self._housekeeper = Housekeeper(self._keep_house)
            self._with_records = set()
            self.database.open(self._housekeeper.want)
            try:
                self._check_whole()
                self._spaces = Spaces(self.database)
                self._indices = self._prepare(self._housekeeper.want)
                is_behind = bool(self.to_analyse())
            except BaseException:
                self.database.close()
                raise
            self._is_open = True
            if is_behind:
                self._housekeeper.want()

    def close(self) -> None:
        """Close the engine; later calls raise StoreClosed until it is opened again."""
        with self._guard:
            if not self._is_open:
                return
            self._is_open = False
            self._indices.stopping.set()
            self._housekeeper.stop()
            try:
                self._indices.save()
            except StoreError as error:
                # Whoever opens the store next reads the changes again.
                log.warning("the indices are not saved: %s", error)
            finally:
                self.database.close()

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self._is_open

    @contextmanager
    def transaction(self, *organizations: str) -> Iterator[None]:
        """Make the writes inside one atomic, durable transaction on the organizations named."""
        with self._names.within(organizations), self.database.transaction(*organizations):
            yield

    @contextmanager
    def snapshot(self, *organizations: str) -> Iterator[SqlSnapshot]:
        """Open a reader of these organizations as of the present moment."""
        numbers = self.database.numbers_of(organizations)
        with self.database.stream() as connection:
            for number in sorted(numbers.values()):
                # On a cluster each node settles its own moment by its first read.
                change_feed.sequence(connection, number)
            yield SqlSnapshot(connection, frozenset(organizations), numbers)

    def put(self, record: Record) -> None:
        """Keep a record in place of any with its organization, kind and id, and index its text."""
        with self._writing(record.organization) as (connection, number):
            rows.put(connection, number, record)

    def get(self, of: type[R], organization: str, id: str) -> R | None:
        """Return the record with an id, or None."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
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
        number = self.database.number_of(where.organization)
        if limit is not None and number is not None:
            where = self._first_named(number, of, where, order, offset + limit)
        with self.database.reading() as connection:
            return rows.find(connection, number, of, where, order, limit, offset)

    def values(
        self, of: type[Record], where: Filter, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some fields of each selected record, in no order. Raises AttributeError."""
        number = self.database.number_of(where.organization)
        with self.database.reading() as connection:
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
        """Return a page of the records in several selections together, in the order of `find`."""
        known = self.database.numbers_of([where.organization for where in wheres])
        selections = [
            (number, self._first_named(number, of, where, order, offset + limit))
            for where in wheres
            if (number := known.get(where.organization)) is not None
        ]
        with self.database.snapshot() as connection:
            return rows.page(connection, of, selections, order, limit, offset)

    def each(self, of: type[R], where: Filter, order: Sequence[str]) -> Iterator[R]:
        """Yield the selected records one at a time, all as of one moment."""
        number = self.database.number_of(where.organization)
        with self.database.stream() as connection:
            yield from rows.each(connection, number, of, where, order)

    def ids(
        self, of: type[Record], where: Filter, order: Sequence[str], limit: int | None = None
    ) -> list[str]:
        """Return the ids of the selected records, in order."""
        number = self.database.number_of(where.organization)
        if number is not None and is_by_id(order):
            columns = self._indices.columns(number, of, where)
            if columns is not None:
                return columns.ids(descending="-id" in order, limit=limit)
        with self.database.reading() as connection:
            return rows.ids(connection, number, of, where, order, limit)

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        number = self.database.number_of(where.organization)
        if number is None:
            return 0
        if (columns := self._indices.columns(number, of, where)) is not None:
            return columns.count()
        with self.database.reading() as connection:
            return rows.count(connection, number, of, where)

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        """Put together the selected records that agree in some text fields, latest first."""
        number = self.database.number_of(where.organization)
        with self.database.reading() as connection:
            return rows.groups(connection, number, of, where, by, span)

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        """Remove a record with its text index, vectors, versions and edges."""
        with self._writing(organization) as (connection, number):
            for beside in side_tables.going_with(of.kind):
                connection.run(
                    f"DELETE FROM {beside.name} WHERE organization = ? AND id = ? AND kind = ?",  # noqa: S608
                    (number, id, of.kind),
                )
            return rows.delete(connection, number, of, organization, id)

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        """Return the organizations that hold or have held a record, sorted; with `among`, only those in it.

        Raises StoreClosed if the store is closed.
        """
        if among is None:
            with self.database.reading() as connection:
                return change_feed.organizations(connection)
        if not (self._is_open or self.database.is_writing):
            raise StoreClosed("{place}: the store was closed", place=self.place)
        found = set(among) & self._with_records
        if len(found) == len(set(among)):
            return sorted(found)
        known = self.database.numbers_of(set(among) - found)
        if not known:
            return sorted(found)
        with self.database.reading() as connection:
            # Each by itself: nobody is kept waiting by a node of a cluster that has others' records.
            found.update(
                name for name, number in known.items() if change_feed.sequence(connection, number)
            )
        if not self.database.is_writing:
            # It stays so; what this thread wrote may still be undone.
            self._with_records |= found
        return sorted(found)

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that match the query by BM25."""
        number = self.database.number_of(where.organization)
        if number is None or not query:
            return []
        return by_word(self._ranked(number, of, where, query, limit), query)

    @abstractmethod
    def _ranked(
        self, number: int, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that match the query by BM25, best first, ties by id."""

    def matches_phrase(
        self, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        """Return the sorted ids of the selected records with a text that holds the words as a phrase."""
        number = self.database.number_of(where.organization)
        if number is None or not words:
            return []
        # An index tells words with one stem apart no more: each candidate's own text decides.
        likely = self._holding(number, of, where, analysis.phrase(words))
        return sorted(
            each.id for each in likely if holds_in_a_row(analysis.words(each.text), list(words))
        )

    @abstractmethod
    def _holding(
        self, number: int, of: type[T], where: Filter, phrase: Sequence[str]
    ) -> Iterable[T]:
        """Return the selected records with a text that holds the terms of a phrase, in a row or not."""

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
        kept = Embedding(space, checked_rows(space, vectors, states), states)
        with self._registered(organization, [space]) as (connection, number, spaces):
            embeddings.put(connection, number, of, id, embeddings.kept_of(kept, spaces))

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        """Return a record's vectors as they are kept, or None."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return embeddings.get(connection, number, of, id, self._spaces)

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        """Return the token states, by id, of those records that have any of that space and form."""
        number, in_space = self.database.number_of(organization), self._spaces.number_of(space)
        if number is None or in_space is None:
            return {}
        with self.database.reading() as connection:
            return embeddings.states(connection, number, of, ids, in_space, space.states)

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        """Sum the bytes of the token states of an organization's records of a kind."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return embeddings.states_size(connection, number, of)

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        """Return records that lack vectors of that space or states of its form, by kind."""
        numbers = None if among is None else self.database.numbers_of(among).values()
        in_space = self._spaces.number_of(space)
        with self.database.reading() as connection:
            return embeddings.without(connection, kinds, in_space, space.states, limit, numbers)

    def count_vectors(self, of: type[TextRecord], where: Filter, space: VectorSpace) -> int:
        """Count the selected records that have vectors of that space and states of its form."""
        number = self.database.number_of(where.organization)
        in_space = self._spaces.number_of(space)
        if number is None or in_space is None:
            return 0
        if not space.states:
            columns = self._indices.columns(number, of, where, in_space)
            if columns is not None:
                return columns.count()
        with self.database.reading() as connection:
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
        if (number := self.database.number_of(where.organization)) is None:
            return []
        return self._indices.nearest(number, of, where, space, vector, limit, also)

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        """Return the edges that touch any of the nodes."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return rows.edges(connection, number, organization, nodes, limit)

    def beside(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return, by id, the ids that stand beside it in the order of ids, nearest first."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return rows.beside(connection, number, of, ids, reach)

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the heaviest edges that touch any of the nodes, without the rest of their records."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return rows.ties(connection, number, nodes, limit)

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the selected entities of which a name occurs in the words."""
        number = self.database.number_of(where.organization)
        with self.database.reading() as connection:
            return entity_names.entities_named(connection, number, where, words)

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        """Return the latest change of each record that changed after `since`, oldest first."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return change_feed.changes(connection, number, since, limit)

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return change_feed.sequence(connection, number)

    @property
    def token_uses(self) -> SqlTokenUses:
        """The last use of each token."""
        return SqlTokenUses(self.database)

    @property
    def identity(self) -> str:
        """The identity of this store among all others, wherever it is."""
        return self.database.identity

    @property
    def place(self) -> str:
        """The place of the store: a path, or a URL without user and password."""
        return self.database.place

    @property
    def key(self) -> Key | None:
        """The key that the store is encrypted with here; None: it is plain, or a server keeps it."""
        return self.database.key

    @property
    def writes(self) -> Writes:
        """The number of writes of this process and the time they took."""
        return self.database.writes

    def embeddings(
        self, of: type[TextRecord], organization: str, ids: Collection[str]
    ) -> dict[str, Embedding]:
        """Return, by id, the vectors and token states of those records that have vectors."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return embeddings.whole(connection, number, of, ids, self._spaces)

    def begin_receiving(self, source: str) -> None:
        """Note that the records of a store are being moved here. Raises StoreError if others are here."""
        with self.database.registering() as connection:
            noted, written = transfer.source_of(connection), transfer.written(connection)
            check_may_receive(self.place, source, noted, written)
            transfer.begin(connection, source)

    def has_all_of(self, source: str) -> bool:
        """Tell whether a move from a store, named by its identity, has ended and nobody wrote here since."""
        with self.database.committed() as connection:
            noted = transfer.source_of(connection)
            return noted == (source, True) and not transfer.written(connection)

    def received(self, organization: str) -> int:
        """Return the sequence of the source up to which an organization's changes were transferred."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return transfer.received(connection, number)

    def receive(
        self, organization: str, carried: Sequence[Carried], gone: Sequence[Gone], up_to: int
    ) -> None:
        """Keep and remove records of an organization, and note how far that goes, in one transaction."""
        spaces = {each.embedding.space for each in carried if each.embedding is not None}
        with (
            self.transaction(organization),
            self._registered(organization, spaces) as (connection, number, in_spaces),
        ):
            for of, id in gone:
                rows.delete(connection, number, of, organization, id)
            connection.put_carried(number, carried, in_spaces)
            transfer.note_received(connection, number, up_to)

    def end_receiving(self) -> None:
        """Note that all is here, so that the store may be opened."""
        with self.database.registering() as connection:
            transfer.end(connection)

    @property
    def leases(self) -> LeaseRows | None:
        """The rows of the leases that all processes of the store share; None: locks are files of one machine."""
        return None

    @property
    def shared_values(self) -> SharedValues | None:
        """The values that all servers over the store share; None: its processes share a data directory."""
        return None

    def placement(self) -> Placement | None:
        """Return on how many machines the records are; None if they are in a file."""
        return None

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each table that a server keeps, with everything in its rows; nothing of a store in a file."""
        yield from ()

    def check_answers(self) -> None:
        """Raise StoreError unless the store can be read at this moment."""
        with self.database.committed() as connection:
            connection.run("SELECT number FROM organizations LIMIT 1")

    def check(self) -> list[str]:
        """Return the faults of the store, a sentence each; nothing if all is sound. Reads everything."""
        with self.database.stream() as connection:
            wrong = list(contradictions(connection))
        return wrong or list(self._indices.gaps())

    @abstractmethod
    def scrub(self) -> list[str]:
        """Leave no byte of removed records in the store's files; return the steps left to others, a sentence each."""

    def rewrite_tables(self) -> list[str]:
        """Do as `scrub` does, and have a server write its tables anew, each locked meanwhile."""
        return self.scrub()

    def size(self) -> int:
        """Return the size of the store in bytes, its indices included."""
        files = (path for path in self._indices.folder.glob("*/*") if path.is_file())
        return self.database.size() + sum(path.stat().st_size for path in files)

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Connection, int]]:
        self._names.check(organization)
        with self.database.writing(organization) as lent:
            yield lent

    @contextmanager
    def _registered(
        self, organization: str, spaces: Collection[VectorSpace]
    ) -> Iterator[tuple[Connection, int, dict[VectorSpace, int]]]:
        """Yield a connection to write vectors with, the organization's number and those of the spaces."""
        with self._writing(organization) as (connection, number):
            yield connection, number, {each: self._spaces.registered(each) for each in spaces}

    def _check_whole(self) -> None:
        """Raise StoreError if records are being moved here by another process."""
        with self.database.committed() as connection:
            noted = transfer.source_of(connection)
        if noted is not None and not noted[1] and not self._receives:
            raise being_filled(self.place)
