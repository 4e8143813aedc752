"""The engine's part under one body of SQL: connections that take and give plain values, and the words that differ."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from types import TracebackType
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from minutebook.record.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError
from minutebook.record.reason import Reason
from minutebook.record.records import Record, TextRecord
from minutebook.store.disk.encryption import Key
from minutebook.store.leases import LeaseRows
from minutebook.store.shared_values import SharedValues
from minutebook.store.sql.tables import DamagedRow, value_text
from minutebook.store.values import Carried, Moment, Placement, VectorSpace, Writes

Row: TypeAlias = tuple[Any, ...]

Condition: TypeAlias = tuple[str, Sequence[Any]]
"""A condition, and the values that it names by question marks."""


class KeptVectors(NamedTuple):
    """The values stored beside a text: the number of the space, the vectors, the form of token states and these."""

    space: int
    vectors: bytes
    form: str | None
    states: bytes | None


class Connection(ABC):
    """A connection that one thread uses at a time.

    Statements mark their parameters by `?`. A text among the values may hold NUL and lone surrogates; one that
    is read may come as bytes (`value_text`). Conditions are about a table that is called `r`.
    """

    types: ClassVar[Mapping[str, str]]
    """The type of a column by the word of a `SideTable`."""

    table_end: ClassVar[str] = ""
    """The end of a statement that makes a side table."""

    feeds: ClassVar[tuple[str, str]]
    """The table of the sequences, and its column with the organization's number."""

    vectors: ClassVar[tuple[str, str]]
    """The column with the vectors of a record `r`, and the join of the table `{0}` that leads there."""

    states: ClassVar[tuple[str, str]]
    """The column with the token states of a record `r`, and the join that leads there."""

    states_of: ClassVar[tuple[str, str]]
    """The columns with the space and the form of those token states."""

    states_bytes: ClassVar[tuple[str, str]]
    """The number of bytes of token states, and the table for the table `{0}` that has them, by organization."""

    everyones: ClassVar[tuple[str, str, str]]
    """Records `r` of the table `{0}` by space beside their organizations `o`, the number to choose those by, and the order of the
    index, backwards: the newest first of each space."""

    kept_terms: ClassVar[str | None] = None
    """The condition on a text's packed terms, in the column `terms`, that they are of this version; None: there are none."""

    contradictions: ClassVar[Mapping[str, str]] = {}
    """Sentences about records of the table `{1}` that contradict themselves, and what counts those (`{0}`)."""

    @abstractmethod
    def rows(
        self, statement: str, values: Sequence[Any] = (), *, binary: bool = False
    ) -> list[Row]:
        """Run a statement and return its rows; `binary`: they hold much that is no text."""

    @abstractmethod
    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a statement and yield its rows, holding few of them; the connection is inside a transaction."""

    @abstractmethod
    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of some rows of values."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run a statement that gives no rows."""
        self.rows(statement, values)

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return its first row, None if there is none."""
        rows = self.rows(statement, values)
        return rows[0] if rows else None

    # Sequences: whatever happens to a record takes the next of its organization

    def sequence(self, number: int | None) -> int:
        """Return the sequence of the latest change, 0 when there is none."""
        table, key = self.feeds
        row = self.row(f"SELECT sequence FROM {table} WHERE {key} = ?", (number,))  # noqa: S608
        return 0 if row is None else int(row[0])

    def drawn(self, number: int, count: int = 1) -> int:
        """Draw the sequences of changes that follow one another; return the first."""
        table, key = self.feeds
        ((last,),) = self.rows(
            f"UPDATE {table} SET sequence = sequence + ? WHERE {key} = ? RETURNING sequence",  # noqa: S608
            (count, number),
        )
        return int(last) - count + 1

    # Words

    @abstractmethod
    def among(self, column: str, values: Collection[Any]) -> Condition:
        """Write that a column has one of some values."""

    def equals(self, name: str, value: Any) -> Condition:
        """Write that a column of a record has a value that is not None."""
        return f"r.{name} = ?", (value,)

    @abstractmethod
    def has_object(self, name: str, value: Mapping[str, Any]) -> Condition:
        """Write that a column holds a JSON object, whatever the order of its keys."""

    @abstractmethod
    def starts(self, name: str, start: str) -> Condition:
        """Write that a text begins so, A to Z like a to z."""

    @abstractmethod
    def has_client(self, client: str) -> Condition:
        """Write that a program wrote a record, A to Z like a to z."""

    @abstractmethod
    def listed(self, texts: Sequence[str]) -> Condition:
        """Write a query that gives some texts as rows of one column, `id`."""

    @abstractmethod
    def first_of(self, selects: Sequence[str], order: str, limit: int, offset: int = 0) -> str:
        """Write a query for some rows of several selections together, each of which an index has in that order."""

    @abstractmethod
    def edges_at(self, columns: str, number: int | None, nodes: Sequence[str]) -> Condition:
        """Write a query for some columns of the edges that touch any of the nodes."""

    # Writing

    @abstractmethod
    def put(self, number: int, record: Record) -> None:
        """Write a record in place of any with its key, with its derived rows, as the next change."""

    @abstractmethod
    def put_carried(
        self, number: int, carried: Sequence[Carried], spaces: Mapping[VectorSpace, int]
    ) -> None:
        """Write records of another store, with these vectors and states and no others; `spaces` numbers theirs."""

    @abstractmethod
    def put_embedding(self, number: int, of: type[TextRecord], id: str, kept: KeptVectors) -> bool:
        """Write vectors and token states in place of earlier ones, as the next change; False if there is no such record."""

    @abstractmethod
    def clear_embedding(
        self, of: type[TextRecord], number: int, id: str, sequence: int, *, vectors: bool
    ) -> None:
        """Remove the token states of a record, and its vectors, unless it has changed; that is no change."""

    @abstractmethod
    def remove(self, number: int, of: type[Record], chosen: Condition) -> list[str]:
        """Delete the chosen records of a class with the rows beside them; return their ids."""

    @abstractmethod
    def put_names(self, number: int, entity: str, names: Sequence[tuple[str, str]]) -> None:
        """List an entity under these names, each the first word and the JSON of all, and no others."""

    @abstractmethod
    def put_space(self, space: tuple[str, str, int]) -> None:
        """Write a vector space (name, digest, dimensions) with a number of its own, unless it is there."""


class Database(ABC):
    """Lends connections, each to one thread at a time; a thread that writes keeps its own."""

    place: str
    """The place of the database: a path, or a URL without user and password."""

    recovery: ClassVar[str]
    """The remedy for lost records, as the end of a sentence."""

    key: Key | None = None
    """The key that it is encrypted with here; None: it is plain, or a server keeps it."""

    writes = Writes()
    """The number of writes of this process and the time they took."""

    leases: LeaseRows | None = None
    """The rows of the leases that all processes of the store share; None: locks are files of one machine."""

    shared_values: SharedValues | None = None
    """The values that all servers over the database share; None: its processes share a data directory."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counting = threading.Lock()

    def open(self, want: Callable[[], None]) -> None:
        """Open the database, made if it is missing, again after `close`; `want` asks for a run of the housekeeping.

        Raises StoreTooNew if a later version wrote it, else StoreError.
        """
        # The database may have been replaced while it was closed.
        self._numbers = {}
        self.__dict__.pop("identity", None)
        self._open(want)

    @abstractmethod
    def _open(self, want: Callable[[], None]) -> None:
        """Open the database, made if it is missing."""

    @cached_property
    def identity(self) -> str:
        """The identity of this store among all others, wherever it is."""
        with self.committed() as connection:
            ((identity,),) = connection.rows("SELECT id FROM identity")
        return str(identity)

    @property
    @abstractmethod
    def is_writing(self) -> bool:
        """Tell whether this thread is inside a transaction."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Yield a connection to read with: inside a transaction, the one that writes."""

    @abstractmethod
    def committed(self) -> AbstractContextManager[Connection]:
        """Yield a connection that sees only committed data, even inside a transaction."""

    @abstractmethod
    def settled(self) -> AbstractContextManager[Connection]:
        """Yield a connection on which every read sees the data committed by now."""

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Have all reads of this thread see the data of one moment, where that makes them cheaper.

        What the thread writes meanwhile is seen after it, and `committed` still sees all that is committed.
        """
        yield

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Yield a connection on which every read sees the same state, as the thread sees it."""
        with self.reading() if self.is_writing else self.settled() as connection:
            yield connection

    @abstractmethod
    def stream(self) -> AbstractContextManager[Connection]:
        """Yield a connection of its own that sees the data committed by now, to read while the thread does more."""

    @contextmanager
    def transaction(self, *organizations: str) -> Iterator[None]:
        """Make the writes inside one transaction; a nested one can be undone by itself."""
        with self._savepoint() if self.is_writing else self._whole_transaction(organizations):
            yield

    @abstractmethod
    def _whole_transaction(self, organizations: Sequence[str]) -> AbstractContextManager[Any]:
        """Make the writes inside one transaction on these organizations."""

    @abstractmethod
    def _savepoint(self) -> AbstractContextManager[None]:
        """Make the writes inside a part of the thread's transaction that can be undone by itself."""

    @abstractmethod
    def writing(
        self, organization: str, wait: float | None = None
    ) -> AbstractContextManager[tuple[Connection, int]]:
        """Yield the writing connection, inside a transaction, and the number of the organization to be written to.

        Raises StoreBusy if others write for longer than `wait` seconds, or than the engine waits.
        """

    @abstractmethod
    def writing_beside(self, wait: float | None = None) -> AbstractContextManager[Connection]:
        """Yield a connection to write rows outside the change feed; no organization's writers are waited for.

        All that write to a file wait for one another, for `wait` seconds or as long as the engine does: StoreBusy.
        """

    @abstractmethod
    def registered(self, organization: str) -> int:
        """Return the number of an organization, which is given one if it has none; the thread is about to write."""

    @abstractmethod
    def registering(self) -> AbstractContextManager[Connection]:
        """Yield a connection to write rows of no organization, outside the current transaction if the engine can."""

    @abstractmethod
    def size(self) -> int:
        """Return the size of the database in bytes."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""

    def check_answers(self) -> None:
        """Raise StoreError unless the database can be read at this moment."""
        with self.committed() as connection:
            connection.run("SELECT number FROM organizations LIMIT 1")

    @abstractmethod
    def check_writes(self) -> None:
        """Raise StoreError unless the database commits a write at this moment, StoreBusy where others write just now."""

    def why_unwritable(self) -> StoreError | None:
        """Return the reason why no write can succeed at this moment; None if one can, or when others end or the store is opened."""
        try:
            self.check_writes()
        except (StoreBusy, StoreClosed):
            return None
        except StoreError as error:
            return error
        return None

    @abstractmethod
    def file_faults(self) -> list[tuple[str, str]]:
        """Return the faults of its file and log, or of its place on a cluster, a sentence each, with the remedy."""

    @abstractmethod
    def moment(self) -> AbstractContextManager[Moment]:
        """Open a snapshot of the whole that can be copied; it may stay open long.

        Raises StoreError, which says what to do instead, if the database is not a file.
        """

    def placement(self) -> Placement | None:
        """Return on how many machines the records are; None if they are in a file."""
        return None

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each table that a server keeps, with everything in its rows; nothing of a file."""
        yield from ()

    def _note_write(self, requested: float, began: float) -> None:
        """Count a transaction that was asked for, and began, at these moments and ends now."""
        with self._counting:
            before = self.writes
            self.writes = Writes(
                before.count + 1,
                before.seconds + time.perf_counter() - began,
                before.waited + began - requested,
            )

    def number_of(self, organization: str) -> int | None:
        """Return the number that stands for an organization, None before it has one."""
        number = self._numbers.get(organization)
        return self.numbers_of([organization]).get(organization) if number is None else number

    def numbers_of(self, organizations: Collection[str]) -> dict[str, int]:
        """Return the numbers of those organizations that have one."""
        known = self._known_numbers()
        found = {name: known[name] for name in organizations if name in known}
        unknown = [name for name in organizations if name not in found]
        if unknown:
            with self.reading() as connection:
                condition, values = connection.among("name", unknown)
                rows = connection.rows(
                    f"SELECT name, number FROM organizations WHERE {condition}",  # noqa: S608
                    values,
                )
            read = {value_text(name): number for name, number in rows}
            self._learn_numbers(read)
            found |= read
        return found

    def _known_numbers(self) -> Mapping[str, int]:
        """Return the numbers of organizations that are known, for this thread, not to change."""
        return self._numbers

    def _learn_numbers(self, numbers: Mapping[str, int]) -> None:
        self._numbers.update(numbers)


Place = TypeVar("Place")


class Translation(ABC, Generic[Place]):
    """Turns errors of a driver into StoreErrors that name the database; mistakes in our code stay visible."""

    shows_cause: ClassVar[bool]
    """Whether the driver's own error stays behind ours: what some say of a row has the row's content in it."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    @abstractmethod
    def fault(self, error: BaseException | None) -> StoreError | None:
        """Return the StoreError that an error of the driver amounts to; None for any other."""

    @abstractmethod
    def damage(self, what: Reason) -> StoreDamaged:
        """Return the error that names the damage and the remedy."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, DamagedRow):
            raise self.damage(error.what) from error
        fault = self.fault(error)
        if fault is not None:
            raise fault from (error if self.shows_cause else None)
