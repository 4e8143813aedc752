"""The connection that a thread reads with."""

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
    """A thread's own connection, lent by `with`; a lock keeps `close` from pulling it away meanwhile.

    It is no generator: most of what a short read costs would be that.
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
        """Close the connection when nobody reads with it."""
        with self._lock:
            self._is_closed = True
            self.connection.raw.close()

    def hold(self) -> None:
        """Have all reads see the data of one moment, that of the first, until `let_go`."""
        with self._lock, self._translation:
            if not (self._is_closed or self.connection.raw.in_transaction):
                self.connection.raw.execute("BEGIN")
                self.connection.known = {}

    def let_go(self) -> bool:
        """Have each read see the present data again; tell whether all saw those of one moment."""
        with self._lock, self._translation:
            was_held = self.connection.known is not None
            self.connection.known = None
            if was_held and not self._is_closed and self.connection.raw.in_transaction:
                self.connection.raw.execute("COMMIT")
            return was_held

    @contextmanager
    def apart(self) -> Iterator[SqliteConnection]:
        """Yield the connection in a reading transaction of its own; reads that are held to one moment go on with a later one."""
        was_held, raw = self.let_go(), self.connection.raw
        with self as connection, nullcontext() if raw.in_transaction else raw:
            yield connection
        if was_held:
            self.hold()
