"""The protocol of every storage engine. `tests/store/conformance.py` tests each engine by it."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from minutebook.record.filters import Filter
from minutebook.record.records import Edge, Record, TextRecord
from minutebook.store.sql.database import Database
from minutebook.store.sql.upkeep import Upkeep
from minutebook.store.values import Candidate, Change, Group, R, T, Tie, Vectors, VectorSpace
from minutebook.text.words import TextQuery


class Snapshot(Protocol):
    """Reads some organizations, each as it was at one moment, for the thread that opened it.

    Raises StoreError for a Filter of another organization.
    """

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""

    def each(self, of: type[R], where: Filter, order: Sequence[str] = ()) -> Iterator[R]:
        """Yield the selected records, sorted by the fields of `order`, then by id, with few of them in memory."""

    def wrong_names(self, organization: str) -> list[str]:
        """Return the sorted ids of entities of which the index of names differs from their names and aliases."""


class Store(Protocol):
    """Keeps records durably, finds them, and reports changes.

    Every method may be called from any thread. A method that changes something outside a
    `transaction` runs in one of its own, which names its organization. Inside, the thread reads what it wrote; others, in this
    process or another, see all of a transaction or nothing, at once when it ends. Errors are
    `StoreError`s.
    """

    def transaction(self, *organizations: str) -> AbstractContextManager[None]:
        """Make the writes inside one atomic, durable transaction; an exception undoes all of it.

        It writes only to the organizations that it names; no other transaction writes
        to those until it ends. A transaction inside a transaction is part of the outer one and names some of its
        organizations; an exception undoes the inner one, and the outer may go on, except after
        a StoreError. Raises StoreError for an organization that is not named.
        """

    def snapshot(self, *organizations: str) -> AbstractContextManager[Snapshot]:
        """Open a reader of these organizations, each as of one moment from now on; it may stay open long.

        It reads only what was committed by then, even inside a transaction. Other uses of the store by the
        thread, or by others, do not disturb it.
        """

    def put(self, record: Record) -> None:
        """Write a record, replacing any with its organization, kind and id, and index its text.

        Time zones are not kept: instants are read back in UTC.
        """

    def get(self, of: type[R], organization: str, id: str) -> R | None:
        """Return the record with an id, or None."""

    def find(
        self,
        of: type[R],
        where: Filter,
        *,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[R]:
        """Return the selected records, sorted by the fields of `order` (`-name`: descending), then by id.

        None sorts before every value. With the first field descending, ids descend too.
        """

    def values(
        self, of: type[Record], where: Filter, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some fields of each selected record, in no order: far quicker than whole records.

        Raises AttributeError if the records have no field of a name.
        """

    def page(
        self,
        of: type[R],
        wheres: Sequence[Filter],
        *,
        order: Sequence[str],
        limit: int,
        offset: int = 0,
    ) -> list[R]:
        """Return a page of the records in several selections together, in the order of `find`.

        The selections are of different organizations; ties go by the place of the selection.
        """

    def each(self, of: type[R], where: Filter, order: Sequence[str]) -> Iterator[R]:
        """Yield the selected records, in the order of `find`, with few of them in memory.

        All are as of the moment when the first is asked for, and committed by then, even inside a
        transaction. Other uses of the store by the thread do not disturb it.
        """

    def ids(
        self, of: type[Record], where: Filter, order: Sequence[str], limit: int | None = None
    ) -> list[str]:
        """Return the ids of the selected records, in the order of `find`, at most `limit`."""

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        """Return the selected records as groups that agree in the text fields `by`, latest first.

        `span` names the field with the instant of which each group has the least and the greatest. Ties are sorted by
        the values, None first.
        """

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        """Remove a record with its text index and vectors; tell whether it was there.

        With a memory go its versions; with a memory or entity, the edges that touch it.
        """

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        """Return the organizations that hold or have held a record, sorted; with `among`, only those in it.

        Every request asks this: with `among` the cost does not grow with the number of organizations.
        """

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that hold any term, or phrase, of the query, by BM25.

        Best first, ties by id. The statistics are those of the organization's records of that kind.
        """

    def holding_words(
        self, of: type[TextRecord], where: Filter, words: Sequence[Sequence[str]]
    ) -> list[set[str]]:
        """Return for each word the ids of the selected records that have any of its terms.

        `words` has for each word the terms that stand for it, as `text.words.TextQuery.words` has them.
        """

    def matches_phrase(
        self, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        """Return the sorted ids of the selected records with a text that holds the words as a phrase.

        Words as `text.words.words` makes them.
        """

    def put_vectors(
        self,
        of: type[TextRecord],
        organization: str,
        id: str,
        space: VectorSpace,
        vectors: Vectors,
        states: bytes | None = None,
    ) -> None:
        """Write the vectors of a record's text, and its token states, replacing earlier ones.

        Vectors are kept as float16, states as they are given, in the form that the space names.
        `put` removes both if it changes the text. Raises NotFound if there is no such record,
        InvalidInput if a row is not finite, not of length 1 or not of the space's dimensions, or
        states have no form.
        """

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        """Return a record's vector space and its vectors as they are kept; None if it has none."""

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        """Return the token states, by id, of those records that have any of that space and form."""

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        """Return records without vectors of that space, of all organizations or of those in `among`.

        If the space names a form of token states, also those that have none of that form. Those without any vectors come
        first, of these the ones of the first kinds, the newest before older ones of an organization.
        """

    def count_vectors(self, of: type[TextRecord], where: Filter, space: VectorSpace) -> int:
        """Count the selected records that have vectors of that space, and states of its form if it names one."""

    def nearest(
        self,
        of: type[TextRecord],
        where: Filter,
        space: VectorSpace,
        vector: Vectors,
        limit: int,
        also: Collection[str] = (),
    ) -> list[Candidate]:
        """Rank the selected records by the cosine of their best part with a unit vector (d,).

        Best first, ties by id; only records with vectors of that space. The selected records with an id in `also`
        are added to the `limit` best, however they rank. An engine may miss a few of
        many: of the ten best, less than one in a hundred. Raises InvalidInput if the vector is not of
        the space's dimensions or not of length 1.
        """

    def neighbours(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return for each of the ids up to `reach` ids of records before it and as many after it, nearest first.

        Ids are in the order of writing. Records count whether or not a reader may see them.
        """

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        """Return the relations, links and mentions that touch any of the nodes, by id.

        With a limit, at most that many, the heaviest first, ties by id.
        """

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the edges that `edges` returns with a limit, with only the fields that a graph walk needs."""

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the selected entities of which a name occurs in the words.

        A name (or alias) occurs when its words stand in a row; words as `text.words.words` makes.
        """

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        """Return the latest change of each record that changed after `since`, oldest first.

        New vectors are a change of their record; records deleted along with another are changes too.
        """

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""

    def close(self) -> None:
        """Close the engine; later calls raise StoreClosed until it is opened again."""


class Tended(Store, Protocol):
    """The store with its database and its upkeep, for status, doctor, metrics and backups."""

    @property
    def database(self) -> Database:
        """The database under the records, with the tables that features keep beside them."""

    @property
    def upkeep(self) -> Upkeep:
        """The part that opens the store, checks it and makes derived data anew."""
