"""A `Store` in a SQL database: the part that all engines share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple

from minutebook.record.errors import StoreClosed
from minutebook.record.filters import Filter
from minutebook.record.records import Edge, Entity, Record, TextRecord
from minutebook.store.sidecar.phrases import holds_in_a_row
from minutebook.store.sidecar.words import holding_words, per_word
from minutebook.store.sql import change_feed, embeddings, entity_names, rows, side_tables
from minutebook.store.sql.database import Connection
from minutebook.store.sql.embeddings import check_query, checked_rows
from minutebook.store.sql.index_source import is_by_id
from minutebook.store.sql.upkeep import Upkeep
from minutebook.store.transaction_names import TransactionNames, check_in_snapshot
from minutebook.store.values import (
    Candidate,
    Change,
    Group,
    R,
    T,
    TextVectors,
    Tie,
    Vectors,
    VectorSpace,
)
from minutebook.text import words as analysis
from minutebook.text.words import TextQuery

Answer = TypeVar("Answer")
Given = TypeVarTuple("Given")


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
        return entity_names.wrongly_listed(
            self._connection, self._number_of(organization), entities
        )

    def _number_of(self, organization: str) -> int | None:
        check_in_snapshot(self._organizations, organization)
        return self._numbers.get(organization)


class SqlStore(ABC):
    """A `Store` in a database, with indices in a folder of this machine."""

    def __init__(self, upkeep: Upkeep) -> None:
        self.upkeep = upkeep
        self.database = upkeep.database
        self._names = TransactionNames()
        self._with_records: set[str] = set()
        upkeep.open()

    def _with_first_ids(
        self, number: int, of: type[Record], where: Filter, order: Sequence[str], needed: int
    ) -> Filter:
        """Return the Filter, with the ids of the `needed` first records added by an engine that finds them without SQL."""
        return where

    def close(self) -> None:
        """Close the engine; later calls raise StoreClosed until it is opened again."""
        self.upkeep.close()

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
                # On a cluster the snapshot of a node begins with its first read.
                connection.sequence(number)
            yield SqlSnapshot(connection, frozenset(organizations), numbers)

    def put(self, record: Record) -> None:
        """Write a record, replacing any with its key, and index its text. Raises InvalidInput if the id is too long."""
        with self._writing(record.organization) as (connection, number):
            rows.check_key(record)
            connection.put(number, record)
            if isinstance(record, Entity):
                entity_names.list_names(connection, number, record)

    def get(self, of: type[R], organization: str, id: str) -> R | None:
        """Return the record with an id, or None."""
        return self._read(organization, rows.get, of, organization, id)

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
            where = self._with_first_ids(number, of, where, order, offset + limit)
        return self._read(where.organization, rows.find, of, where, order, limit, offset)

    def values(
        self, of: type[Record], where: Filter, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some fields of each selected record, in no order. Raises AttributeError."""
        return self._read(where.organization, rows.values, of, where, fields)

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
            (number, self._with_first_ids(number, of, where, order, offset + limit))
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
            columns = self.upkeep.indices.columns(number, of, where)
            if columns is not None:
                return columns.ids(descending="-id" in order, limit=limit)
        return self._read(where.organization, rows.ids, of, where, order, limit)

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        number = self.database.number_of(where.organization)
        if number is None:
            return 0
        if (columns := self.upkeep.indices.columns(number, of, where)) is not None:
            return columns.count()
        return self._read(where.organization, rows.count, of, where)

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        """Return the selected records as groups that agree in some text fields, latest first."""
        return self._read(where.organization, rows.groups, of, where, by, span)

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        """Remove a record with its text index, vectors, versions and edges."""
        with self._writing(organization) as (connection, number):
            for table in side_tables.tables_going_with(of.kind):
                connection.run(
                    f"DELETE FROM {table.name} WHERE organization = ? AND id = ? AND kind = ?",  # noqa: S608
                    (number, id, of.kind),
                )
            return rows.delete(connection, number, of, id)

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        """Return the organizations that hold or have held a record, sorted; with `among`, only those in it.

        Raises StoreClosed if the store is closed.
        """
        if among is None:
            with self.database.reading() as connection:
                return change_feed.organizations(connection)
        if not (self.upkeep.is_open or self.database.is_writing):
            raise StoreClosed("{place}: the store was closed", place=self.database.place)
        found = set(among) & self._with_records
        if len(found) == len(set(among)):
            return sorted(found)
        known = self.database.numbers_of(set(among) - found)
        if not known:
            return sorted(found)
        with self.database.reading() as connection:
            # Each by itself, so that on a cluster only the nodes of these organizations are asked.
            found.update(name for name, number in known.items() if connection.sequence(number))
        if not self.database.is_writing:
            # What is committed stays true; what this thread wrote may still be undone.
            self._with_records |= found
        return sorted(found)

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that match the query by BM25."""
        number = self.database.number_of(where.organization)
        if number is None or not query:
            return []
        return per_word(self._ranked(number, of, where, query, limit), query)

    def holding_words(
        self, of: type[TextRecord], where: Filter, words: Sequence[Sequence[str]]
    ) -> list[set[str]]:
        """Return for each word the ids of the selected records that have any of its terms."""
        number = self.database.number_of(where.organization)
        if number is None:
            return [set() for _ in words]
        return self._holding_words(number, of, where, words)

    def _holding_words(
        self, number: int, of: type[TextRecord], where: Filter, words: Sequence[Sequence[str]]
    ) -> list[set[str]]:
        asked = self.upkeep.indices.conditions(number, of, where)
        return holding_words(self.upkeep.indices.words(number, of), asked, words)

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
        # An index knows stems, not words, so each candidate's own text decides.
        likely = self._holding(number, of, where, analysis.phrase(words))
        return sorted(
            each.id for each in likely if holds_in_a_row(analysis.words(each.text), list(words))
        )

    @abstractmethod
    def _holding(
        self, number: int, of: type[T], where: Filter, phrase: Sequence[str]
    ) -> Iterable[T]:
        """Return the selected records with a text that holds all terms of a phrase, in a row or not."""

    def put_vectors(
        self,
        of: type[TextRecord],
        organization: str,
        id: str,
        space: VectorSpace,
        vectors: Vectors,
        states: bytes | None = None,
    ) -> None:
        """Write vectors and token states of a record's text. Raises NotFound if there is no such record, InvalidInput if they do not fit the space."""
        kept = TextVectors(space, checked_rows(space, vectors, states), states)
        with self._writing_vectors(organization, [space]) as (connection, number, spaces):
            embeddings.put(connection, number, of, id, embeddings.encoded(kept, spaces))

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        """Return a record's vectors as they are kept, or None."""
        return self._read(organization, embeddings.get, of, id, self.upkeep.spaces)

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        """Return the token states, by id, of those records that have any of that space and form."""
        number, in_space = (
            self.database.number_of(organization),
            self.upkeep.spaces.number_of(space),
        )
        if number is None or in_space is None:
            return {}
        return self._read(organization, embeddings.token_states, of, ids, in_space, space.states)

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        """Return records that lack vectors of that space or states of its form, by kind."""
        numbers = None if among is None else self.database.numbers_of(among).values()
        in_space = self.upkeep.spaces.number_of(space)
        with self.database.reading() as connection:
            return embeddings.lacking(connection, kinds, in_space, space.states, limit, numbers)

    def count_vectors(self, of: type[TextRecord], where: Filter, space: VectorSpace) -> int:
        """Count the selected records that have vectors of that space and states of its form."""
        number = self.database.number_of(where.organization)
        in_space = self.upkeep.spaces.number_of(space)
        if number is None or in_space is None:
            return 0
        if not space.states:
            columns = self.upkeep.indices.columns(number, of, where, in_space)
            if columns is not None:
                return columns.count()
        return self._read(where.organization, embeddings.count, of, where, in_space, space.states)

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
        return self.upkeep.indices.nearest(number, of, where, space, vector, limit, also)

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        """Return the edges that touch any of the nodes."""
        return self._read(organization, rows.edges, organization, nodes, limit)

    def neighbours(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return for each of the ids those before and after it in the order of ids, nearest first."""
        return self._read(organization, rows.neighbours, of, ids, reach)

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the heaviest edges that touch any of the nodes, with only the fields that a graph walk needs."""
        return self._read(organization, rows.ties, nodes, limit)

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the selected entities of which a name occurs in the words."""
        return self._read(where.organization, entity_names.entities_named, where, words)

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        """Return the latest change of each record that changed after `since`, oldest first."""
        return self._read(organization, change_feed.changes, since, limit)

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return connection.sequence(number)

    def _read(
        self,
        organization: str,
        read: Callable[[Connection, int | None, *Given], Answer],
        *given: *Given,
    ) -> Answer:
        """Call a function with a connection, the number of an organization and further arguments; return its result."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return read(connection, number, *given)

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Connection, int]]:
        self._names.check(organization)
        with self.database.writing(organization) as lent:
            yield lent

    @contextmanager
    def _writing_vectors(
        self, organization: str, spaces: Collection[VectorSpace]
    ) -> Iterator[tuple[Connection, int, dict[VectorSpace, int]]]:
        """Yield a connection to write vectors with, the organization's number and those of the spaces."""
        with self._writing(organization) as (connection, number):
            yield (
                connection,
                number,
                {each: self.upkeep.spaces.number_for_writing(each) for each in spaces},
            )
