"""Three pools of connections: for writes, for short reads, and for streams.

A thread with a connection of one pool may wait for one of another pool. During a short read it waits for
nothing, so that the connections of that pool always come back.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from minutebook.features.postgres import distribution, numbers, remains, schema
from minutebook.features.postgres.errors import driver_errors, fault_of
from minutebook.features.postgres.shared_rows import PostgresLeases, PostgresSharedValues
from minutebook.features.postgres.statements import PostgresConnection, Raw
from minutebook.features.postgres.texts import text_adapters
from minutebook.record.errors import InvalidInput, NotFound, StoreBusy, StoreClosed, StoreError
from minutebook.store.sql.database import Database
from minutebook.store.values import Moment, Placement

_WRITE = "SELECT current_setting('transaction_read_only')::bool, pg_logical_emit_message(true, 'minutebook', '')"
"""Writes to the server's log and to no table; a read-only server refuses it, or returns true."""

Pool: TypeAlias = "ConnectionPool[Raw]"

_CONNECT_SECONDS = 10
_PROBE_AFTER = 0.5
"""Seconds without a free connection after which a new one is tried, to find out whether the server is up."""

_IDLE_TIMEOUT = "15min"
"""The time after which the server ends an idle transaction, such as an abandoned snapshot."""

# The first read sets the snapshot.
_SNAPSHOT = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1"


def place_of(url: str) -> str:
    """Return the URL of a database for messages, without user and password.

    Raises InvalidInput if it is not the URL of a PostgreSQL database.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # Without the cause, which may quote a part of the password.
        raise InvalidInput(
            "store",
            "must be a URL such as postgresql://minutebook@db.example.org/minutebook, with other "
            "signs than letters and digits in a name or password written as %XX",
        ) from None
    host = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{host}{port}/{parts.get('dbname') or parts.get('user') or ''}"


@dataclass(slots=True)
class _Transaction:
    """The open transaction of a thread.

    `organizations` are the numbers of those that it locked, `begun` the sequences that these had when it began, by number.
    """

    connection: PostgresConnection
    organizations: Mapping[str, int]
    begun: Mapping[int, int]
    depth: int = 0
    failed: BaseException | None = None


class PostgresConnections(Database):
    """Lends connections, each to one thread at a time; a thread that writes keeps its own."""

    leases: PostgresLeases
    shared_values: PostgresSharedValues
    recovery = "have the server recover the database as of an earlier moment"

    def __init__(self, url: str, *, synchronous: bool, writer_wait: float, size: int) -> None:
        super().__init__()
        self.place = place_of(url)
        self._wait = writer_wait
        self._local = threading.local()
        self._guard = threading.Lock()
        self._is_closed = True
        self._adapters = text_adapters()
        self._url = url
        self._size = size
        self.leases, self.shared_values = PostgresLeases(self), PostgresSharedValues(self)
        self._settings = {
            "application_name": "minutebook",
            "lock_timeout": f"{max(1, round(writer_wait * 1000))}ms",
            "idle_in_transaction_session_timeout": _IDLE_TIMEOUT,
            "synchronous_commit": "on" if synchronous else "off",
        }

    def _open(self, want: Callable[[], None]) -> None:
        with driver_errors(self.place), self._opened() as connection:
            schema.prepare(connection, self.place)
        self._writers, self._readers, self._streams = (self._pool(self._size) for _ in range(3))
        self._is_closed = False

    @property
    def is_writing(self) -> bool:
        """Tell whether this thread is inside a transaction."""
        return self._transaction is not None

    @contextmanager
    def reading(self) -> Iterator[PostgresConnection]:
        """Yield a connection to read with: inside a transaction that of the transaction."""
        transaction = self._transaction
        if transaction is None:
            with self.committed() as connection:
                yield connection
        else:
            with self._guarded(transaction) as connection:
                yield connection

    @contextmanager
    def committed(self) -> Iterator[PostgresConnection]:
        """Yield a connection that sees only committed data, even inside a transaction."""
        with self._borrowed(self._readers) as raw:
            yield PostgresConnection(raw)

    @contextmanager
    def reading_committed_snapshot(self) -> Iterator[PostgresConnection]:
        """Yield a connection on which every read sees the data committed by now."""
        with self.committed() as connection:
            connection.raw.execute(_SNAPSHOT)
            yield connection

    @contextmanager
    def stream(self) -> Iterator[PostgresConnection]:
        """Yield a connection like `settled`, of the pool for reads during which the thread does other work."""
        with self._borrowed(self._streams) as raw:
            raw.execute(_SNAPSHOT)
            yield PostgresConnection(raw)

    @contextmanager
    def writing(
        self, organization: str, wait: float | None = None
    ) -> Iterator[tuple[PostgresConnection, int]]:
        """Yield the writing connection and the number of the organization to be written to."""
        transaction = self._transaction
        if transaction is None:
            with self._whole_transaction((organization,)) as begun, driver_errors(self.place):
                yield begun.connection, begun.organizations[organization]
            return
        with self._guarded(transaction) as connection:
            yield connection, transaction.organizations[organization]

    @contextmanager
    def writing_outside_feed(self, wait: float | None = None) -> Iterator[PostgresConnection]:
        """Yield a connection inside a transaction, to write rows that are not in the change feed."""
        with self.reading() as connection, connection.raw.transaction():
            yield connection

    def number_for_writing(self, organization: str) -> int:
        """Return the number of an organization; a new one gets a number for good."""
        return self._numbers_for([organization])[organization]

    @contextmanager
    def writing_shared(self) -> Iterator[PostgresConnection]:
        """Open a connection outside the current transaction, for rows that must survive its rollback."""
        if self._is_closed:
            raise self._closed_error()
        with driver_errors(self.place), self._opened() as raw:
            yield PostgresConnection(raw)

    def size(self) -> int:
        """Return the size of the database in bytes."""
        with self.committed() as connection:
            return distribution.size(connection.raw)

    def close(self) -> None:
        """Close every connection; those in use are closed when they come back."""
        with self._guard:
            if self._is_closed:
                return
            self._is_closed = True
        for pool in (self._writers, self._readers, self._streams):
            pool.close()

    def check_writes(self) -> None:
        """Raise StoreError unless the database commits a write now."""
        with self.writing_shared() as connection:
            if connection.rows(_WRITE)[0][0]:
                raise StoreError("{place}: the database is read-only", place=self.place)

    def placement(self) -> Placement:
        """Return the numbers of nodes and shards of the records."""
        with self.committed() as connection:
            return distribution.placement(connection.raw)

    def file_faults(self) -> list[tuple[str, str]]:
        """Return the faults of the placement, each with its remedy: unplaced tables, unreachable nodes."""
        with self.committed() as connection:
            return distribution.faults(connection.raw)

    def server_contents(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each table of the store with the content of its rows, in blocks."""
        with self.stream() as connection:
            yield from remains.contents(connection.raw)

    def distribution_plan(self, shards: int) -> list[str]:
        """Return the statements by which `distribute` places the tables not placed yet.

        Raises StoreError if the database has no Citus, or is not that of the coordinator.
        """
        with self.committed() as connection:
            return distribution.plan(connection.raw, self.place, shards)

    def distribute(self, shards: int) -> list[str]:
        """Spread the tables over the nodes of the cluster, all or none; return the steps done.

        Writers wait meanwhile. Raises StoreError if the database has no Citus, or is not that of the
        coordinator, StoreBusy if another process writes for too long.
        """
        with self.writing_shared() as connection:
            return distribution.distribute(connection.raw, self.place, shards)

    def moment(self) -> AbstractContextManager[Moment]:
        """Raise StoreError: a server's database is backed up by the server's own tools."""
        raise StoreError(
            "{place} is no file that could be copied: have it backed up on the server for recovery to any point "
            "in time (pg_basebackup with its log, pgBackRest, or what the service that runs it offers), and with "
            "it the ledgers, which are Git repositories in `ledgers` of a server's data directory; `minutebook "
            "export` writes the records to a file",
            place=self.place,
        )

    # Lending

    def _opened(self) -> Raw:
        connection = psycopg.connect(self._url, **self._options())
        self._configure(connection)
        return connection

    def _options(self) -> dict[str, Any]:
        return {"autocommit": True, "context": self._adapters, "connect_timeout": _CONNECT_SECONDS}

    def _configure(self, connection: Raw) -> None:
        calls = ", ".join("set_config(%s, %s, false)" for _ in self._settings)
        connection.execute(
            f"SELECT {calls}", [part for setting in self._settings.items() for part in setting]
        )

    def _pool(self, size: int) -> Pool:
        return ConnectionPool(
            self._url,
            kwargs=self._options(),
            configure=self._configure,
            min_size=0,
            max_size=size,
            num_workers=1,
            # A failed connection is tried again at the next request, not after growing pauses.
            reconnect_timeout=1.0,
            open=True,
        )

    @contextmanager
    def _borrowed(self, pool: Pool) -> Iterator[Raw]:
        connection = self._take(pool)
        try:
            with driver_errors(self.place):
                yield connection
        finally:
            if (
                not connection.closed
                and connection.info.transaction_status != TransactionStatus.IDLE
            ):
                _roll_back(connection)
            pool.putconn(connection)

    def _take(self, pool: Pool) -> Raw:
        """Take a connection that the server has not ended. Raises StoreBusy or StoreError."""
        while True:
            connection = self._get(pool)
            if not _is_ended(connection):
                return connection
            connection.close()
            pool.putconn(connection)

    def _get(self, pool: Pool) -> Raw:
        """Take a connection of a pool. Raises StoreBusy if all are in use, StoreError if the server is down."""
        try:
            return pool.getconn(timeout=min(_PROBE_AFTER, self._wait))
        except PoolClosed:
            raise self._closed_error() from None
        except PoolTimeout:
            pass
        with driver_errors(self.place):
            self._opened().close()
        try:
            return pool.getconn(timeout=max(self._wait, _PROBE_AFTER))
        except PoolClosed:
            raise self._closed_error() from None
        except PoolTimeout:
            reason = "{place}: all {most} connections of this process are in use; try again"
            raise StoreBusy(reason, place=self.place, most=pool.max_size) from None

    def _closed_error(self) -> StoreClosed:
        return StoreClosed("{place}: the store was closed", place=self.place)

    # Transactions

    @property
    def _transaction(self) -> _Transaction | None:
        transaction: _Transaction | None = getattr(self._local, "transaction", None)
        return transaction

    def _current(self) -> _Transaction:
        transaction = self._transaction
        assert transaction is not None
        return transaction

    @contextmanager
    def _guarded(self, transaction: _Transaction) -> Iterator[PostgresConnection]:
        """Yield the connection of a transaction; after an error in a statement the transaction counts as failed."""
        if transaction.failed is not None:
            raise self._undone_error(transaction.failed)
        try:
            with driver_errors(self.place):
                yield transaction.connection
        except (NotFound, InvalidInput):
            # These are raised before anything is written.
            raise
        except BaseException as error:
            status = transaction.connection.raw.info.transaction_status
            if status != TransactionStatus.INTRANS:
                transaction.failed = error
            raise

    @contextmanager
    def _whole_transaction(self, organizations: Sequence[str]) -> Iterator[_Transaction]:
        """Begin a transaction of this thread with locks on organizations, and commit it at the end."""
        requested = time.perf_counter()
        numbers = self._numbers_for(organizations)
        with self._borrowed(self._writers) as connection:
            began = requested
            try:
                begun = _begin(connection, numbers)
                transaction = _Transaction(
                    PostgresConnection(connection, {**begun}), numbers, begun
                )
                began = time.perf_counter()
                self._local.transaction = transaction
                yield transaction
                if transaction.failed is not None:
                    raise self._undone_error(transaction.failed)
                self._commit(transaction)
            finally:
                self._local.transaction = None
                self._note_write(requested, began)

    def _commit(self, transaction: _Transaction) -> None:
        connection = transaction.connection.raw
        updates = [
            f"UPDATE feeds SET sequence = {latest} WHERE organization = {number}"  # noqa: S608
            for number, latest in transaction.connection.latest.items() - transaction.begun.items()
        ]
        try:
            connection.execute("; ".join([*updates, "COMMIT"]).encode())
        except psycopg.Error as error:
            if not connection.closed:
                raise
            fault = fault_of(error, self.place)
            reason = "{fault}; it was lost during the commit, so look whether the write took place before you repeat it"
            raise StoreError(reason, fault=fault or self.place) from None

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        transaction = self._current()
        transaction.depth += 1
        name = f"level_{transaction.depth}"
        connection, before = transaction.connection.raw, dict(transaction.connection.latest)
        try:
            with self._guarded(transaction):
                connection.execute(f"SAVEPOINT {name}".encode())
            yield
            with self._guarded(transaction):
                connection.execute(f"RELEASE {name}".encode())
        except BaseException:
            if not connection.closed:
                transaction.connection.latest = before
                with driver_errors(self.place):
                    connection.execute(f"ROLLBACK TO {name}; RELEASE {name}".encode())
                transaction.failed = None
            raise
        finally:
            transaction.depth -= 1

    def _numbers_for(self, organizations: Collection[str]) -> dict[str, int]:
        """Return the numbers of organizations; new ones get a number for good."""
        missing = sorted(set(organizations) - set(self.numbers_of(organizations)))
        if missing:
            with self.writing_shared() as connection:
                for name in missing:
                    numbers.register(connection.raw, name)
        return self.numbers_of(organizations)

    def _undone_error(self, cause: BaseException) -> StoreError:
        return StoreError(
            "{place}: the transaction was undone: {cause}", place=self.place, cause=cause
        )


def _begin(connection: Raw, numbers: Mapping[str, int]) -> Mapping[int, int]:
    """Begin a transaction, and lock its organizations in the order of their numbers; return their sequences, by number."""
    # All in one message. At READ COMMITTED later reads are not older than the lock.
    statements = [
        f"SELECT organization, sequence FROM feeds WHERE organization = {number} FOR UPDATE"  # noqa: S608
        for number in sorted(numbers.values())
    ]
    begun: dict[int, int] = {}
    cursor = connection.execute(
        "; ".join(["BEGIN ISOLATION LEVEL READ COMMITTED", *statements]).encode()
    )
    while cursor.nextset():
        begun.update(cursor.fetchall())
    return begun


def _roll_back(connection: Raw) -> None:
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def _is_ended(connection: Raw) -> bool:
    """Tell, without a request, whether the server has ended the connection since its last use."""
    try:
        # The first call may only read the server's last message.
        for _ in range(2):
            connection.pgconn.consume_input()
    except psycopg.Error:
        return True
    return connection.closed
