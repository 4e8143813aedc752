"""The connection with which a thread reads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import TracebackType

import apsw

from minutebook.record.errors import StoreClosed
from minutebook.store.sqlite.errors import translate_errors
from minutebook.store.sqlite.statements import SqliteConnection


class ReadingConnection:
    """A thread's own connection, to be used by `with`; a lock makes `close` wait until it is free.

    It is a class because a generator would take most of the time of a short read.
    """

    __slots__ = ("__weakref__", "_is_closed", "_lock", "_path", "_translation", "connection")

    def __init__(self, raw: apsw.Connection, path: Path) -> None:
        self.connection = SqliteConnection(raw)
        self._path = path
        self._translation = translate_errors(path)
        self._lock = threading.RLock()
        self._is_closed = False

    def __enter__(self) -> SqliteConnection:
        self._lock.acquire()
        if self._is_closed:
            self._lock.release()
            raise StoreClosed("{path}: the store was closed", path=self._path)
        return self.connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._lock.release()
        if error is not None:
            self._translation.__exit__(kind, error, at)

    def close(self) -> None:
        """Close the connection once it is not in use."""
        with self._lock:
            self._is_closed = True
            self.connection.raw.close()

    def hold_moment(self) -> None:
        """Let all reads see the data of one moment, that of the first read, until `release_moment`."""
        with self._lock, self._translation:
            if not (self._is_closed or self.connection.raw.in_transaction):
                self.connection.raw.execute("BEGIN")
                self.connection.known = {}

    def release_moment(self) -> bool:
        """Let each read see the present data again; return whether reads were held to one moment before."""
        with self._lock, self._translation:
            was_held = self.connection.known is not None
            self.connection.known = None
            if was_held and not self._is_closed and self.connection.raw.in_transaction:
                self.connection.raw.execute("COMMIT")
            return was_held

    @contextmanager
    def outside_moment(self) -> Iterator[SqliteConnection]:
        """Yield the connection in a separate reading transaction; reads held to one moment are held to a later one afterwards."""
        was_held, raw = self.release_moment(), self.connection.raw
        with self as connection, nullcontext() if raw.in_transaction else raw:
            yield connection
        if was_held:
            self.hold_moment()
