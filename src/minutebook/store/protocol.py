"""The promise of every storage engine. `tests/store/conformance.py` holds each engine to it."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from minutebook.disk.encryption import Key
from minutebook.domain.filters import Filter
from minutebook.domain.records import Edge, Record, TextRecord
from minutebook.search.text import TextQuery
from minutebook.store.leases import LeaseRows
from minutebook.store.shared_values import SharedValues
from minutebook.store.sql.database import Database
from minutebook.store.token_uses import TokenUses
from minutebook.store.values import (
    Candidate,
    Change,
    Group,
    Placement,
    R,
    T,
    Tie,
    Vectors,
    VectorSpace,
    Writes,
)


class Snapshot(Protocol):
    """Reads some organizations, each as it was at one moment, for the thread that asked for it.

    A Filter of another organization: StoreError.
    """

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""

    def each(self, of: type[R], where: Filter, order: Sequence[str] = ()) -> Iterator[R]:
        """Yield the selected records one at a time, by the fields of `order`, then by id, holding few of them."""

    def wrong_names(self, organization: str) -> list[str]:
        """Return the sorted ids of the entities that texts are found to name otherwise than by their names and aliases."""


class Store(Protocol):
    """Keeps records durably, finds them, and reports changes.

    Every method may be called from any thread. A method that changes something outside a
    `transaction` runs in one of its own, which names its organization. Inside, the thread reads what it wrote; others, in this
    process or another, see all of a transaction or nothing, at once when it ends. Errors are
    `StoreError`s.
    """

    def transaction(self, *organizations: str) -> AbstractContextManager[None]:
        """Make the writes inside one atomic, durable transaction; an exception undoes all of it.

        It may write to the organizations that it names, to no other: StoreError. From its first
        moment no other transaction writes to those, so what it reads of them stays so until it ends.
        A transaction inside a transaction is part of the outer one and names some of its
        organizations, else StoreError; an exception undoes the inner, and the outer may go on. Not so
        after a StoreError.
        """

    def snapshot(self, *organizations: str) -> AbstractContextManager[Snapshot]:
        """Open a reader of these organizations, each as of one moment from now on; it may stay open long.

        It reads what was committed by then, even inside a transaction. What else the thread, or any
        other, does with the store meanwhile does not disturb it.
        """

    def put(self, record: Record) -> None:
        """Keep a record in place of any with its organization, kind and id, and index its text.

        Instants are kept, not their zones: they come back in UTC.
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

        Raises AttributeError if the records keep no field of a name.
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
        """Yield the selected records one at a time, in the order of `find`, holding few of them.

        All are as of the moment the first is asked for, and committed by then, even inside a
        transaction. What else the thread asks the store meanwhile does not disturb them.
        """

    def ids(
        self, of: type[Record], where: Filter, order: Sequence[str], limit: int | None = None
    ) -> list[str]:
        """Return the ids of the selected records, in the order of `find`, at most `limit`."""

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        """Put together the selected records that agree in the text fields `by`, latest first.

        `span` names the instant of which each group tells the least and the greatest; ties go by
        the values, None first.
        """

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        """Remove a record with its text index and vectors; tell whether it was there.

        With a memory go its versions; with a memory or entity, the edges that touch it.
        """

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        """Return the organizations that hold or have held a record, sorted; with `among`, only those in it.

        Every request asks: with `among` it costs the same however many there are.
        """

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        """Rank the selected records that hold any term, or phrase, of the query, by BM25.

        Best first, ties by id. The statistics are those of the organization's records of that kind.
        """

    def matches_phrase(
        self, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        """Return the sorted ids of the selected records with a text that holds the words as a phrase.

        Words as `search.text.words` makes them.
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
        """Keep the vectors of a record's text, and its token states, in place of earlier ones.

        Vectors are kept as float16, states as they are given, in the form that the space names.
        Changing the text (`put`) removes both. Raises NotFound if there is no such record,
        InvalidInput if a row is not finite, not of length 1 or not of the space's dimensions, or
        states have no form.
        """

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        """Return a record's vectors as they are kept, or None."""

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        """Return the token states, by id, of those records that have any of that space and form."""

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        """Sum the bytes of the token states of an organization's records of a kind."""

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        """Return records without vectors of that space, of all organizations or of those in `among`.

        If the space names a form of token states, also those that have none of that form. What is of
        the first kinds comes first; else the order is the engine's own.
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

        Best first, ties by id; only records with vectors of that space. Beside the `limit` best come
        the selected records that `also` names, however they rank. An engine may miss a few of
        many: of the ten best, less than one in a hundred. A vector as no record could have it:
        InvalidInput.
        """

    def beside(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return, by id, up to `reach` ids of records before it and as many behind it, nearest first.

        In the order of ids, which is that of writing, whatever a reader may see.
        """

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        """Return the relations, links and mentions that touch any of the nodes, by id.

        With a limit, at most that many, the heaviest first, ties by id.
        """

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the edges that `edges` returns with a limit, without the fields that only readers of a record need."""

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the selected entities of which a name occurs in the words.

        A name (or alias) occurs when its words stand in a row; words as `search.text.words` makes.
        """

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        """Return the latest change of each record that changed after `since`, oldest first.

        New vectors are a change of their record; what goes with a deleted record is deleted too.
        """

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""

    @property
    def token_uses(self) -> TokenUses:
        """The last use of each token."""

    @property
    def is_open(self) -> bool:
        """Whether the engine can be asked; a store comes open."""

    def open(self) -> None:
        """Open the store again, unless it is open. Raises StoreError if it cannot be opened."""

    def close(self) -> None:
        """Close the engine; later calls raise StoreClosed until it is opened again."""


class Moment(Protocol):
    """The content of a whole store at one moment."""

    def copy_to(self, path: Path) -> None:
        """Copy all of it to a new file. Raises StoreError if that cannot be written."""


class Tended(Store, Protocol):
    """The store as maintenance sees it: status, doctor, metrics, backup."""

    @property
    def database(self) -> Database:
        """The database under the records, with the tables that features keep beside them."""

    @property
    def place(self) -> str:
        """The place of the store: a path, or a URL without user and password."""

    @property
    def key(self) -> Key | None:
        """The key that the store is encrypted with here; None: it is plain, or a server keeps it."""

    @property
    def recovery(self) -> str:
        """The remedy for lost records, as the end of a sentence."""

    @property
    def writes(self) -> Writes:
        """The number of writes of this process and the time they took."""

    @property
    def leases(self) -> LeaseRows | None:
        """The rows of the leases that all processes of the store share; None: locks are files of one machine."""

    @property
    def shared_values(self) -> SharedValues | None:
        """The values that all servers over the store share; None: its processes share a data directory."""

    def check_answers(self) -> None:
        """Raise StoreError unless the store can be read at this moment."""

    def check_writes(self) -> None:
        """Raise StoreError unless the store commits a write at this moment, StoreBusy where others write just now."""

    def size(self) -> int:
        """Return the size of the store in bytes, its indices included."""

    def check(self) -> list[str]:
        """Return the faults of the store, a sentence each; nothing if all is sound."""

    def to_analyse(self) -> int:
        """Count the texts with a text index that is being made anew, as another version analysed them."""

    def placement(self) -> Placement | None:
        """Return on how many machines the records are; None if they are in a file."""

    def file_faults(self) -> list[tuple[str, str]]:
        """Return the faults of that file, or of its log, a sentence each, with the remedy."""

    def rebuild(self) -> None:
        """Make anew from the records all that is derived from them. Raises StoreDamaged."""

    def scrub(self) -> list[str]:
        """Leave no byte of removed records in the store's files; return the steps left to others, a sentence each.

        Other writers wait meanwhile. May be repeated after a kill. Raises StoreBusy if somebody reads an
        old state for too long, StoreError if a file cannot be written.
        """

    def rewrite_tables(self) -> list[str]:
        """Do as `scrub` does, and have a server write its tables anew, each locked meanwhile. Raises the same."""

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each table that a server keeps, with everything in its rows; nothing of a store in a file."""

    def moment(self) -> AbstractContextManager[Moment]:
        """Open a snapshot of the whole store that can be copied; it may stay open long.

        Raises StoreError, which says what to do instead, if the store is not a file.
        """
