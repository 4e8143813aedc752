"""The interface between the common SQL and an engine: connections, and the expressions of SQL that differ."""

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
"""A condition or query as SQL, and the values of its question marks."""


class KeptVectors(NamedTuple):
    """An embedding as it is stored: the number of its space, its vectors, the form of its token states, and these."""

    space: int
    vectors: bytes
    form: str | None
    states: bytes | None


class Connection(ABC):
    """A connection that one thread uses at a time.

    Statements mark their parameters by `?`. A text among the values may hold NUL and lone surrogates; one that
    is read may be bytes (`value_text` reads it). Conditions are about a table with the alias `r`.
    """

    types: ClassVar[Mapping[str, str]]
    """The engine's type of a column, by the type that a `SideTable` names."""
    table_end: ClassVar[str] = ""
    """The end of a statement that creates a side table."""
    feeds: ClassVar[tuple[str, str]]
    """The table with the sequences of organizations, and its column with an organization's number."""
    vectors: ClassVar[tuple[str, str]]
    """The column with the vectors of a record `r`, and the join from its table `{0}` to the table with that column."""
    states: ClassVar[tuple[str, str]]
    """The column with the token states of a record `r`, and the join from its table `{0}` to the table with that column."""
    states_of: ClassVar[tuple[str, str]]
    """The columns with the space and the form of those token states."""
    states_bytes: ClassVar[tuple[str, str]]
    """The expression for the bytes of token states, and the table that has it for records of the table `{0}`."""
    records_by_space: ClassVar[tuple[str, str, str]]
    """Of a query over all organizations: the join of records `r` of the table `{0}` with organizations `o`, the column with the
    organization's number, and the order by space, the newest first."""
    kept_terms: ClassVar[str | None] = None
    """The condition that the packed terms in a row's column `terms` are of the present version; None: rows have no terms."""
    contradictions: ClassVar[Mapping[str, str]] = {}
    """Queries that count contradictory records of a table (`{0}`), by the sentence to report (`{0}`: number, `{1}`: table)."""

    @abstractmethod
    def rows(
        self, statement: str, values: Sequence[Any] = (), *, binary: bool = False
    ) -> list[Row]:
        """Run a statement and return its rows; `binary` is a hint that they hold many bytes."""

    @abstractmethod
    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a statement and yield its rows, with few of them in memory; the connection is inside a transaction."""

    @abstractmethod
    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each of the rows of values."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run a statement that returns no rows."""
        self.rows(statement, values)

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return its first row, None if there is none."""
        rows = self.rows(statement, values)
        return rows[0] if rows else None

    # Sequences: every change of a record takes the next of its organization

    def sequence(self, number: int | None) -> int:
        """Return the sequence of an organization's latest change, 0 if there is none."""
        table, key = self.feeds
        row = self.row(f"SELECT sequence FROM {table} WHERE {key} = ?", (number,))  # noqa: S608
        return 0 if row is None else int(row[0])

    def draw_sequences(self, number: int, count: int = 1) -> int:
        """Take the next `count` sequences of an organization for changes; return the first."""
        table, key = self.feeds
        ((last,),) = self.rows(
            f"UPDATE {table} SET sequence = sequence + ? WHERE {key} = ? RETURNING sequence",  # noqa: S608
            (count, number),
        )
        return int(last) - count + 1

    # Expressions of SQL that engines write differently

    @abstractmethod
    def among(self, column: str, values: Collection[Any]) -> Condition:
        """Return the condition that a column has one of some values."""

    def equals(self, name: str, value: Any) -> Condition:
        """Return the condition that a record's column has a value, which is not None."""
        return f"r.{name} = ?", (value,)

    @abstractmethod
    def has_object(self, name: str, value: Mapping[str, Any]) -> Condition:
        """Return the condition that a column holds a JSON object, whatever the order of its keys."""

    @abstractmethod
    def starts(self, name: str, start: str) -> Condition:
        """Return the condition that a text begins with `start`, ASCII case ignored."""

    @abstractmethod
    def has_client(self, client: str) -> Condition:
        """Return the condition that this program wrote a record first, ASCII case ignored."""

    @abstractmethod
    def listed(self, texts: Sequence[str]) -> Condition:
        """Return a query for the texts as rows of one column, `id`."""

    @abstractmethod
    def first_of(self, selects: Sequence[str], order: str, limit: int, offset: int = 0) -> str:
        """Return a query that merges several selections in an order in which an index has each, and returns `limit` rows."""

    @abstractmethod
    def edges_at(self, columns: str, number: int | None, nodes: Sequence[str]) -> Condition:
        """Return a query for some columns of the edges that touch any of the nodes."""

    # Writing

    @abstractmethod
    def put(self, number: int, record: Record) -> None:
        """Write a record with its derived rows as the next change, replacing any with its key."""

    @abstractmethod
    def put_carried(
        self, number: int, carried: Sequence[Carried], spaces: Mapping[VectorSpace, int]
    ) -> None:
        """Write records of another store with their embeddings; `spaces` has the number of each space."""

    @abstractmethod
    def put_embedding(self, number: int, of: type[TextRecord], id: str, kept: KeptVectors) -> bool:
        """Write vectors and token states as the next change, replacing earlier ones; return False if there is no such record."""

    @abstractmethod
    def clear_embedding(
        self, of: type[TextRecord], number: int, id: str, sequence: int, *, vectors: bool
    ) -> None:
        """Remove the token states of a record, and with `vectors` its vectors, if it is still at this sequence.

        This takes no sequence.
        """

    @abstractmethod
    def remove(self, number: int, of: type[Record], chosen: Condition) -> list[str]:
        """Delete the records of a class that meet a condition, with their derived rows; return their ids."""

    @abstractmethod
    def put_names(self, number: int, entity: str, names: Sequence[tuple[str, str]]) -> None:
        """Replace the listed names of an entity; each name is its first word and the JSON list of all its words."""

    @abstractmethod
    def put_space(self, space: tuple[str, str, int]) -> None:
        """Write a vector space (name, digest, dimensions) with a new number, unless it is there."""


class Database(ABC):
    """Lends connections, each to one thread at a time; a thread that writes keeps its own."""

    place: str
    """The place of the database: a path, or a URL without user and password."""

    recovery: ClassVar[str]
    """The remedy for lost records, as the end of a sentence."""
    key: Key | None = None
    """The key with which its file is encrypted; None if it is plain, or on a server."""
    writes = Writes()
    """The number of writes of this process and the time that they took."""
    leases: LeaseRows | None = None
    """The rows of the leases that all processes of the store share; None if locks are files of one machine."""
    shared_values: SharedValues | None = None
    """The values that all servers over the database share; None if its processes share a data directory."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counting = threading.Lock()

    def open(self, want: Callable[[], None]) -> None:
        """Open the database, creating a missing one; `want` asks for a run of the housekeeping. May be called after `close`.

        Raises StoreTooNew if a later version wrote it, else StoreError.
        """
        # The database may have been replaced while it was closed.
        self._numbers = {}
        self.__dict__.pop("identity", None)
        self._open(want)

    @abstractmethod
    def _open(self, want: Callable[[], None]) -> None:
        """Open the database, creating a missing one."""

    @cached_property
    def identity(self) -> str:
        """The unique id of this store, which stays when it is moved or copied."""
        with self.committed() as connection:
            ((identity,),) = connection.rows("SELECT id FROM identity")
        return str(identity)

    @property
    @abstractmethod
    def is_writing(self) -> bool:
        """Tell whether this thread is inside a transaction."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """Yield a connection for reading; inside a transaction, the one that writes, so that its writes are seen."""

    @abstractmethod
    def committed(self) -> AbstractContextManager[Connection]:
        """Yield a connection that sees only committed data, even inside a transaction."""

    @abstractmethod
    def reading_committed_snapshot(self) -> AbstractContextManager[Connection]:
        """Yield a connection on which all reads see the same state: the data committed by now."""

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Let all reads of this thread inside the block see the data of one moment, if the engine gains time by it.

        Writes of the thread are seen after the block; `committed` sees all committed data even inside.
        """
        yield

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Yield a connection on which all reads see the same state, inside a transaction with its writes."""
        with self.reading() if self.is_writing else self.reading_committed_snapshot() as connection:
            yield connection

    @abstractmethod
    def stream(self) -> AbstractContextManager[Connection]:
        """Yield a separate connection that sees the data committed by now; the thread may use others while it reads."""

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
        """Make the writes inside the block a part of the thread's transaction that can be undone by itself."""

    @abstractmethod
    def writing(
        self, organization: str, wait: float | None = None
    ) -> AbstractContextManager[tuple[Connection, int]]:
        """Yield the writing connection, inside a transaction, and the number of the organization.

        Raises StoreBusy if others write for longer than `wait` seconds; None: the engine's own limit.
        """

    @abstractmethod
    def writing_outside_feed(self, wait: float | None = None) -> AbstractContextManager[Connection]:
        """Yield a connection for writing rows outside the change feed, without waiting for an organization's writers.

        In a file all writers wait for one another: raises StoreBusy after `wait` seconds; None: the engine's own limit.
        """

    @abstractmethod
    def number_for_writing(self, organization: str) -> int:
        """Return the number of an organization, giving it one if it has none; call it inside a transaction."""

    @abstractmethod
    def writing_shared(self) -> AbstractContextManager[Connection]:
        """Yield a connection for writing rows that belong to no organization, outside the current transaction if possible."""

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
        """Raise StoreError if the database cannot commit a write at this moment, StoreBusy if others are writing."""

    def why_unwritable(self) -> StoreError | None:
        """Return the reason why no write can succeed; None if one can, now or once other writers end or the store is opened."""
        try:
            self.check_writes()
        except (StoreBusy, StoreClosed):
            return None
        except StoreError as error:
            return error
        return None

    @abstractmethod
    def file_faults(self) -> list[tuple[str, str]]:
        """Return the faults of its file and log, or of its placement on a cluster: a sentence and the remedy of each."""

    @abstractmethod
    def moment(self) -> AbstractContextManager[Moment]:
        """Open a snapshot of the whole database that can be copied; it may stay open long.

        Raises StoreError, which says what to do instead, if the database is not a file.
        """

    def placement(self) -> Placement | None:
        """Return the spread of the records over machines; None if they are in a file."""
        return None

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name of each table on a server, and an iterator over the values in its rows; nothing for a file."""
        yield from ()

    def _note_write(self, requested: float, began: float) -> None:
        """Count a transaction that ends now; `requested` and `began` are moments of `time.perf_counter`."""
        with self._counting:
            before = self.writes
            self.writes = Writes(
                before.count + 1,
                before.seconds + time.perf_counter() - began,
                before.waited + began - requested,
            )

    def number_of(self, organization: str) -> int | None:
        """Return the number of an organization in the tables; None if it has none yet."""
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
        """Return the numbers of organizations that this thread may take from memory, as they cannot change."""
        return self._numbers

    def _learn_numbers(self, numbers: Mapping[str, int]) -> None:
        self._numbers.update(numbers)


Place = TypeVar("Place")


class Translation(ABC, Generic[Place]):
    """Turns errors of a driver inside a `with` block into StoreErrors that name the database; other errors pass."""

    shows_cause: ClassVar[bool]
    """Whether the StoreError keeps the driver's error as its cause; not if that may hold a row's content."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    @abstractmethod
    def fault(self, error: BaseException | None) -> StoreError | None:
        """Return the StoreError for an error of the driver; None for any other error."""

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
