"""The connections to a SQLite file: one that writes, and one for reading in each thread."""

import os
import threading
import time
import weakref
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import apsw

from minutebook.record.errors import (
    InvalidInput,
    NotFound,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
)
from minutebook.record.reason import Reason, Word, cause_of, os_error_reason
from minutebook.store.disk.encryption import Key, Keys
from minutebook.store.disk.filelock import FileLock
from minutebook.store.disk.network_files import network_type
from minutebook.store.disk.room import write_obstacle_in
from minutebook.store.sql.database import Database
from minutebook.store.sqlite import log_damage, missing_database, schema, text_analysis
from minutebook.store.sqlite.encryption import connect, key_of
from minutebook.store.sqlite.errors import RESCUE, translate_errors
from minutebook.store.sqlite.reader import ReadingConnection
from minutebook.store.sqlite.statements import SqliteConnection

_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_BUSY_MILLISECONDS = 10_000
_STATEMENTS = 256
_CACHE_KIB = 16_384
_MAPPED_BYTES = 1 << 30
_LOG_LIMIT_BYTES = 64 << 20
_COPIED_IN_MEMORY = 256 << 20
"""The most bytes of a file that is copied in memory when it is rewritten."""
# Pages of the write-ahead log: from how many on it is checkpointed, and from how many on
# writers have to wait for that, lest it grow without end.
_LONG, _TOO_LONG = 1_000, 16_000
_RESTART_MILLISECONDS = 100
_AGAIN_SECONDS = 0.01


class SqliteMoment:
    """A `Moment` on a connection that is inside a reading transaction."""

    def __init__(self, connection: apsw.Connection, key: Key | None) -> None:
        self._connection = connection
        self._key = key

    def copy_to(self, path: Path) -> None:
        """Copy the whole database to a new file, under the same key. Raises StoreError if it cannot be written."""
        with translate_errors(path), closing(connect(path, self._key)) as copy:
            # A caller that needs the copy on the disk flushes it afterwards.
            copy.pragma("synchronous", "off")
            with copy.backup("main", self._connection, "main") as backup:
                backup.step()


class Connections(Database):
    """A `Database` in a SQLite file."""

    recovery = "restore a backup"

    def __init__(
        self,
        path: Path,
        *,
        keys: Keys | None,
        new_key: Key | None,
        beside: Sequence[Path],
        synchronous: str,
        writer_wait: float,
        or_reads: bool,
    ) -> None:
        super().__init__()
        self._or_reads = or_reads
        self._unwritable: StoreError | None = None
        self._path = path
        self.place = str(path)
        self._keys = keys
        self._new_key = new_key
        self._beside = beside
        self._synchronous = synchronous
        self._wait = writer_wait
        self._closed = True
        self._guard = threading.RLock()
        self._turn = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._failed: BaseException | None = None
        self._new_numbers: dict[str, int] = {}
        self._log_pages = self._wanted_at = 0

    def _open(self, want: Callable[[], None]) -> None:
        path = self._path
        missing_database.check_not_lost(path, self._beside)
        is_there = path.is_file() and path.stat().st_size
        self.key = key_of(path, self._keys) if is_there else self._new_key
        self._want_checkpoint = want
        self._local = threading.local()
        self._readers: weakref.WeakSet[ReadingConnection] = weakref.WeakSet()
        self._file_lock = FileLock(missing_database.lock_of(path))
        self._writer = self._opened_writer(or_reads=bool(self._or_reads and is_there))
        missing_database.mark(path)
        self._closed = False

    def _opened_writer(self, *, or_reads: bool) -> SqliteConnection:
        """Return a new connection that writes; with `or_reads` one that only reads, if the file cannot be written."""
        self._unwritable = None
        try:
            with translate_errors(self._path):
                _make_private(self._path)
                return self._open_writer()
        except StoreError as error:
            cause = write_obstacle_in(self._path.parent) if or_reads else None
            if cause is None or isinstance(error, StoreDamaged):
                raise
            self._unwritable = StoreError("{path}: {cause}", path=self._path, cause=cause)
            with translate_errors(self._path):
                return self._open_writer()

    @property
    def is_writing(self) -> bool:
        """Tell whether this thread is inside a transaction."""
        return self._owner == threading.get_ident()

    def reading(self) -> AbstractContextManager[SqliteConnection]:
        """Yield a connection for reading; inside a transaction, the one that writes, so that its writes are seen."""
        return self._within() if self.is_writing else self._reader()

    @contextmanager
    def _within(self) -> Iterator[SqliteConnection]:
        with translate_errors(self._path):
            yield self._usable_writer()

    @contextmanager
    def committed(self) -> Iterator[SqliteConnection]:
        """Yield a connection that sees only committed data, all of one moment, even inside a transaction."""
        with self._reader().outside_moment() as connection:
            yield connection

    reading_committed_snapshot = committed

    @contextmanager
    def snapshot(self) -> Iterator[SqliteConnection]:
        """Yield a connection on which all reads see the same state, inside a transaction with its writes."""
        is_one = self.is_writing or self._reader().connection.known is not None
        with self.reading() if is_one else self.reading_committed_snapshot() as connection:
            yield connection

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Let all reads of this thread inside the block see the data of one moment, until it writes; they are cheaper so."""
        if not self.is_writing:
            self._reader().hold_moment()
        try:
            yield
        finally:
            self._reader().release_moment()

    @contextmanager
    def dedicated(self) -> Iterator[SqliteConnection]:
        """Yield a separate connection; the thread may use others meanwhile. Raises StoreClosed if the store was closed."""
        if self._closed:
            raise StoreClosed("{path}: the store was closed", path=self._path)
        with translate_errors(self._path), closing(self._new_connection()) as connection:
            yield SqliteConnection(connection)

    @contextmanager
    def stream(self) -> Iterator[SqliteConnection]:
        """Yield a separate connection on which all reads see the state of now."""
        with self.dedicated() as connection:
            connection.raw.execute("BEGIN")
            # SQLite takes the snapshot at the first read.
            connection.raw.pragma("user_version")
            yield connection

    @contextmanager
    def writing_outside_feed(self, wait: float | None = None) -> Iterator[SqliteConnection]:
        """Yield the writing connection for one write, inside a transaction.

        Waits for other writers for `wait` seconds, by default as long as any write does.

        A write that fails halfway undoes the whole transaction. A savepoint would undo less, but
        makes FTS5 write out what it has gathered, each time.
        """
        if not self.is_writing:
            with self._whole_transaction(wait=wait) as connection:
                yield connection
            return
        connection = self._usable_writer()
        try:
            with translate_errors(self._path):
                yield connection
        except (NotFound, InvalidInput):
            # Raised before anything is written.
            raise
        except BaseException as error:
            self._failed = error
            raise

    # A file has one writer at a time, whatever it writes.
    writing_shared = writing_outside_feed

    @contextmanager
    def writing(
        self, organization: str, wait: float | None = None
    ) -> Iterator[tuple[SqliteConnection, int]]:
        """Yield the writing connection for one write, and the number of the organization."""
        with self.writing_outside_feed(wait) as connection:
            yield connection, self.number_for_writing(organization)

    def number_for_writing(self, organization: str) -> int:
        """Return the number of an organization, giving it one if it has none."""
        number = self._numbers.get(organization) or self._new_numbers.get(organization)
        if number is None and (number := self.number_of(organization)) is None:
            self._usable_writer().run(
                "INSERT INTO organizations (name, sequence) VALUES (?, 0)", (organization,)
            )
            number = self._writer.raw.last_insert_rowid()
            self._new_numbers[organization] = number
        return number

    def _known_numbers(self) -> Mapping[str, int]:
        return ChainMap(self._new_numbers, self._numbers) if self.is_writing else self._numbers

    def _learn_numbers(self, numbers: Mapping[str, int]) -> None:
        # Numbers that are read in a transaction may still be undone.
        (self._new_numbers if self.is_writing else self._numbers).update(numbers)

    def size(self) -> int:
        """Return the size of the file and its log in bytes."""
        files = (self._path.with_name(self._path.name + end) for end in ("", "-wal", "-shm"))
        return sum(path.stat().st_size for path in files if path.is_file())

    @contextmanager
    def moment(self) -> Iterator[SqliteMoment]:
        """Open a snapshot of the whole file that can be copied; it may stay open long."""
        with self.stream() as connection:
            yield SqliteMoment(connection.raw, self.key)

    def check_writes(self) -> None:
        """Raise StoreError if the file cannot commit a write at this moment, StoreBusy if others are writing."""
        with self.writing_outside_feed(wait=1.0) as connection:
            # Writing the same number changes nothing, but writes a page of the log.
            connection.raw.pragma("user_version", connection.raw.pragma("user_version"))
        _check_grows(self._path)

    def file_faults(self) -> list[tuple[str, str]]:
        """Return the faults of the file's log, and of its folder if that is on a network: a sentence and the remedy of each."""
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

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the database, if it is long."""
        if self._log_pages < _LONG:
            return
        # BusyError: another process does it now, or a reader still needs the log.
        with self._reader() as connection, suppress(apsw.BusyError):
            if self._log_pages < _TOO_LONG:
                connection.raw.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                return
            connection.raw.set_busy_timeout(_RESTART_MILLISECONDS)
            try:
                with self._turn_to_write():
                    connection.raw.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
            finally:
                connection.raw.set_busy_timeout(_BUSY_MILLISECONDS)

    def rewrite(self) -> None:
        """Rewrite the file without removed records, and empty the log.

        Raises StoreBusy if a process reads an old state for longer than a write may wait.
        """
        with self.dedicated() as connection, self._turn_to_write(), translate_errors(self._path):
            if self._path.stat().st_size > _COPIED_IN_MEMORY:
                connection.raw.pragma("temp_store", "file")
            connection.raw.set_busy_timeout(int(self._wait * 1000))
            connection.raw.execute("VACUUM")
            # The old pages stay in the file until the log is copied into it and cut.
            self._cut_log(connection.raw)

    def _cut_log(self, connection: apsw.Connection) -> None:
        """Copy the whole log into the database and cut it; raises StoreBusy as `rewrite` does."""
        end = time.monotonic() + self._wait
        while True:
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError as error:
                # SQLite waits for readers, but not for another checkpoint.
                if time.monotonic() >= end:
                    raise StoreBusy(
                        "{path}: somebody reads an old state of it; end the backup, export or client that does, then try again",
                        path=self._path,
                    ) from error
                time.sleep(_AGAIN_SECONDS)
            else:
                return

    def close(self) -> None:
        """Close every connection, waiting for those in use; a write that still waits for its turn fails with StoreClosed."""
        with self._guard:
            if self._closed:
                return
            self._closed = True
        for reader in list(self._readers):
            reader.close()
        with self._turn:
            self._writer.raw.close()
            self._file_lock.close()

    def _new_connection(self) -> apsw.Connection:
        """Open one more connection, which the caller closes."""
        if self._unwritable is None:
            connection = connect(self._path, self.key, statements=_STATEMENTS)
        else:
            address = _address_to_read(self._path)
            connection = connect(address, self.key, _READ, statements=_STATEMENTS)
        try:
            self._set_up(connection)
        except BaseException:
            # A kept error would keep the file open, and a restore would find it in use.
            connection.close()
            raise
        return connection

    def _set_up(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.pragma("synchronous", self._synchronous)
        # On macOS fsync does not reach the disk itself; elsewhere this changes nothing.
        connection.pragma("fullfsync", self._synchronous == "full")
        connection.pragma("checkpoint_fullfsync", self._synchronous == "full")
        connection.pragma("cache_size", -_CACHE_KIB)
        connection.pragma("temp_store", "memory")
        connection.pragma("journal_size_limit", _LOG_LIMIT_BYTES)
        # A commit should not wait for a checkpoint: `Housekeeper` makes them.
        connection.wal_autocheckpoint(0)

    def _open_writer(self) -> SqliteConnection:
        connection = self._new_connection()
        try:
            self._keep_unread(connection)
            if not self._is_prepared(connection):
                if self._unwritable is not None:
                    raise self._unwritable
                self._file_lock.acquire(self._wait)
                try:
                    self._make_tables(connection)
                finally:
                    self._file_lock.release()
        except (apsw.Error, StoreError):
            connection.close()
            self._file_lock.close()
            raise
        connection.set_wal_hook(self._note_log)
        return SqliteConnection(connection)

    def _keep_unread(self, connection: apsw.Connection) -> None:
        """Put a copy of the log aside if it is damaged, before anything is written over it."""
        connection.pragma("user_version")
        try:
            # If nothing can be written, nothing is written over it.
            if self._unwritable or not log_damage.unread_transactions(connection, self._path):
                return
        except OSError as error:
            reason = Reason("its log cannot be read ({cause})", cause=cause_of(error))
            raise StoreError(
                "{path}: {cause}. {rescue}", path=self._path, cause=reason, rescue=RESCUE
            ) from error
        self._file_lock.acquire(self._wait)
        try:
            log_damage.keep_unread(connection, self._path)
        except OSError as error:
            reason = Reason(
                "its log is damaged, and no copy of it can be put aside ({cause})",
                cause=cause_of(error),
            )
            raise StoreError(
                "{path}: {cause}. Make room there, and try again", path=self._path, cause=reason
            ) from error
        finally:
            self._file_lock.release()

    def _is_prepared(self, connection: apsw.Connection) -> bool:
        return (
            schema.is_current(connection, self._path)
            and text_analysis.is_current(SqliteConnection(connection))
            # A restore that was killed leaves a database without WAL mode, in which readers and writers block each other.
            and (self._unwritable is not None or connection.pragma("journal_mode") == "wal")
        )

    def _make_tables(self, connection: apsw.Connection) -> None:
        if self._is_prepared(connection):
            return
        connection.pragma("journal_mode", "wal")
        connection.execute("BEGIN IMMEDIATE")
        try:
            schema.migrate(connection, self._path)
            text_analysis.adopt(SqliteConnection(connection))
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _reader(self) -> ReadingConnection:
        reader: ReadingConnection | None = getattr(self._local, "reader", None)
        if reader is None:
            with self._guard, translate_errors(self._path):
                if self._closed:
                    raise StoreClosed("{path}: the store was closed", path=self._path)
                connection = self._new_connection()
                # Only here: a connection that reads or writes everything would fill memory with mapped pages.
                connection.pragma("mmap_size", _MAPPED_BYTES)
                reader = self._local.reader = ReadingConnection(connection, self._path)
                self._readers.add(reader)
        return reader

    @contextmanager
    def _turn_to_write(self, wait: float | None = None) -> Iterator[None]:
        """Wait for this process's other threads, then for the other processes."""
        if (reader := getattr(self._local, "reader", None)) is not None:
            reader.release_moment()
        wait = self._wait if wait is None else wait
        deadline = time.monotonic() + wait
        if not self._turn.acquire(timeout=wait):
            raise StoreBusy(
                "{path}: another thread is writing for over {wait:g} s", path=self._path, wait=wait
            )
        try:
            if self._closed:
                raise StoreClosed("{path}: the store was closed", path=self._path)
            if self._unwritable is not None:
                raise self._unwritable
            self._wait_for_processes(deadline)
            try:
                yield
            finally:
                self._file_lock.release()
        finally:
            self._turn.release()

    def _wait_for_processes(self, deadline: float) -> None:
        """Take the file lock, unless the store is closed before it is free."""
        wait = max(0.0, deadline - time.monotonic())
        try:
            self._file_lock.acquire(wait, is_given_up=lambda: self._closed)
        except StoreBusy as error:
            if self._closed:
                raise StoreClosed("{path}: the store was closed", path=self._path) from error
            raise

    @contextmanager
    def _whole_transaction(
        self, organizations: Sequence[str] = (), wait: float | None = None
    ) -> Iterator[SqliteConnection]:
        requested = time.perf_counter()
        with self._turn_to_write(wait), translate_errors(self._path):
            raw = self._writer.raw
            raw.execute("BEGIN IMMEDIATE")
            began = time.perf_counter()
            self._owner, self._failed = threading.get_ident(), None
            self._new_numbers.clear()
            try:
                yield self._writer
                self._usable_writer()
                raw.execute("COMMIT")
                self._numbers.update(self._new_numbers)
            finally:
                self._owner = None
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
                self._note_write(requested, began)

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        raw = self._usable_writer().raw
        self._depth += 1
        name, numbers = f"level_{self._depth}", dict(self._new_numbers)
        with translate_errors(self._path):
            raw.execute(f"SAVEPOINT {name}")
        try:
            yield
            self._usable_writer()
            raw.execute(f"RELEASE {name}")
        except BaseException:
            # A full disk makes SQLite undo the whole transaction by itself.
            if raw.in_transaction:
                # A text index that was created since then would keep what it has gathered, and fail to commit it.
                # At a new savepoint it writes that out, and then it is undone with the rest.
                with suppress(apsw.Error):
                    raw.execute("SAVEPOINT gathered")
            if raw.in_transaction:
                raw.execute(f"ROLLBACK TO {name}")
                raw.execute(f"RELEASE {name}")
                self._failed, self._new_numbers = None, numbers
            raise
        finally:
            self._depth -= 1

    def _usable_writer(self) -> SqliteConnection:
        """Return the writing connection. Raises StoreError if its transaction was undone."""
        if self._failed is not None or not self._writer.raw.in_transaction:
            reason = "{path}: the transaction was undone: {cause}"
            cause = self._failed or Word("rolled back")
            raise StoreError(reason, path=self._path, cause=cause) from self._failed
        return self._writer

    def _note_log(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._log_pages = pages
        if pages < self._wanted_at:
            self._wanted_at = 0
        if pages >= self._wanted_at + _LONG:
            self._wanted_at = pages
            self._want_checkpoint()
        return apsw.SQLITE_OK


def _make_private(path: Path) -> None:
    """Create a missing file, readable by its owner alone; SQLite gives its log and index the same permissions."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except PermissionError:
        # An existing file may still be readable.
        return
    except OSError as error:
        raise StoreError(os_error_reason(path, error)) from error


def _address_to_read(path: Path) -> str:
    """Return the address for reading a file that cannot be written; without a log beside it, as an immutable file."""
    log = missing_database.log_of(path)
    has_log = log.exists() and log.stat().st_size
    return f"file:{quote(str(path))}?mode=ro{'' if has_log else '&immutable=1'}"


def _check_grows(path: Path) -> None:
    """Raise StoreError unless a new file can be written beside a database: a used log takes pages without growing."""
    if (cause := write_obstacle_in(path.parent)) is not None:
        raise StoreError("{path}: {cause}", path=path, cause=cause)
