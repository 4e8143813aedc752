"""An advisory lock beside a file, which the operating system drops when its holder dies."""

import os
import random
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from minutebook.record.errors import StoreBusy, StoreError
from minutebook.record.reason import os_error_reason
from minutebook.store.disk import lock_queue
from minutebook.store.disk.os_locks import try_lock, try_share, unlock

PATIENCE = 0.1
"""Seconds for which a waiter tries to take the lock before it queues up, and for which one in the queue lets others
go before it. Short waits need no order and are quicker without one.
"""

_POLL_SECONDS = 0.001
_POLL_SECONDS_OF_THE_FIRST = 0.0003
_MAX_POLL_SECONDS = 0.01
_QUEUES = sys.platform != "win32"
"""Whether waiters queue up. They do not on Windows, where an open file cannot be removed."""


class FileLock:
    """A lock that one process at a time holds; threads must not share an object."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._closing: weakref.finalize[..., Any] | None = None

    def acquire(self, wait: float, is_given_up: Callable[[], bool] = lambda: False) -> None:
        """Take the lock, after waiters that have waited longer than twice PATIENCE.

        Raises StoreBusy if it is not free within `wait` seconds, or if `is_given_up` returns True before.
        """
        now = time.monotonic()
        deadline, impatient = now + wait, now + PATIENCE
        if wait and _QUEUES and lock_queue.longest_wait(queue_of(self._path)) > PATIENCE:
            impatient = now
        elif self.try_acquire():
            return
        if _QUEUES and impatient < deadline:
            if self._poll(impatient, is_given_up):
                return
            with _place_in(queue_of(self._path)) as place:
                if self._poll(deadline, is_given_up, place):
                    return
        elif self._poll(deadline, is_given_up):
            return
        raise StoreBusy(
            "{path}: another process is writing for over {wait:g} s", path=self._path, wait=wait
        )

    def _poll(
        self,
        until: float,
        is_given_up: Callable[[], bool],
        place: lock_queue.QueuePlace | None = None,
    ) -> bool:
        """Try to take the lock until an instant, with a `place` only at its turn; tell whether it was taken."""
        pause = _POLL_SECONDS
        while time.monotonic() < until and not is_given_up():
            if place is None or place.is_first():
                if self.try_acquire():
                    return True
                pause = _POLL_SECONDS if place is None else _POLL_SECONDS_OF_THE_FIRST
            else:
                pause = min(2 * pause, _MAX_POLL_SECONDS)
            # Jitter, so that waiting processes do not try at the same moments.
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311
        return False

    def try_acquire(self) -> bool:
        """Take the lock if it is free; tell whether it was taken."""
        return try_lock(self._opened())

    def try_share(self) -> bool:
        """Share the lock with others until it is closed, unless somebody has it alone; tell whether it is shared."""
        return try_share(self._opened())

    def is_in_place(self) -> bool:
        """Tell whether the lock's open file is still the one at its path; if it was replaced, it excludes nobody."""
        try:
            return os.path.samestat(os.fstat(self._opened()), self._path.stat())
        except FileNotFoundError:
            return False

    def _opened(self) -> int:
        if self._file is None:
            flags = getattr(os, "O_CLOEXEC", 0)
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | flags, 0o600)
            except OSError as error:
                # An existing file can be locked even if nobody may write it.
                with suppress(OSError):
                    self._file = os.open(self._path, os.O_RDONLY | flags)
                if self._file is None:
                    raise StoreError(os_error_reason(self._path, error)) from error
            self._closing = weakref.finalize(self, os.close, self._file)
        return self._file

    def release(self) -> None:
        """Release the lock; the next in the queue gets it."""
        if self._file is not None:
            unlock(self._file)

    def close(self) -> None:
        """Release the lock and close its file."""
        if self._closing is not None:
            self._closing()
            self._file = self._closing = None


def queue_of(lock: Path) -> Path:
    """Return the path of the folder with the waiters for a lock's file; it exists while somebody waits."""
    return lock.with_name(f".{lock.name}.queue")


@contextmanager
def _place_in(folder: Path) -> Iterator[lock_queue.QueuePlace | None]:
    """Hold a place in a queue inside the block; yield None if the folder cannot be written: then the wait has no order."""
    try:
        place = lock_queue.queue_up(folder)
    except OSError:
        yield None
        return
    try:
        yield place
    finally:
        place.leave()
