"""An advisory lock beside a file, which the operating system drops when its holder dies."""

import os
import random
import sys
import time
import weakref
from pathlib import Path
from typing import Any

from minutebook.domain.errors import StoreBusy, StoreError

_POLL_SECONDS = 0.001


class FileLock:
    """Held by one owner at a time among all processes; not for several threads of one object."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._closing: weakref.finalize[..., Any] | None = None

    def acquire(self, wait: float) -> None:
        """Take the lock. Raises StoreBusy if it is not free within `wait` seconds."""
        deadline = time.monotonic() + wait
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise StoreBusy(f"{self._path}: another process is writing for over {wait:g} s")
            # Jitter, so that waiting processes do not knock in step.
            time.sleep(_POLL_SECONDS * (0.5 + random.random()))  # noqa: S311

    def try_acquire(self) -> bool:
        """Take the lock if it is free; tell whether."""
        return try_lock(self._opened())

    def try_share(self) -> bool:
        """Hold the lock with others until it is closed, unless somebody has acquired it; tell whether."""
        return _try_share(self._opened())

    def is_in_place(self) -> bool:
        """Tell whether the lock's file is the one at its path: who locks another locks nobody out."""
        try:
            return os.path.samestat(os.fstat(self._opened()), self._path.stat())
        except FileNotFoundError:
            return False

    def _opened(self) -> int:
        if self._file is None:
            try:
                self._file = os.open(
                    self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600
                )
            except OSError as error:
                raise StoreError(f"{self._path}: {error.strerror}") from error
            self._closing = weakref.finalize(self, os.close, self._file)
        return self._file

    def release(self) -> None:
        """Let the next one have it."""
        if self._file is not None:
            _unlock(self._file)

    def close(self) -> None:
        """Let go of the lock and its file."""
        if self._closing is not None:
            self._closing()
            self._file = self._closing = None


if sys.platform == "win32":
    import msvcrt

    # To acquire a lock takes all of it; to share it takes one byte, perhaps another's.
    _ALL = 1 << 30

    def try_lock(file: int) -> bool:
        """Lock an open file if it is free, until it is closed; tell whether."""
        return _try_part(file, 0, _ALL)

    def _try_share(file: int) -> bool:
        return _try_part(file, random.randrange(_ALL), 1)  # noqa: S311

    def _try_part(file: int, start: int, length: int) -> bool:
        os.lseek(file, start, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, length)
        except OSError:
            return False
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, _ALL)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file if it is free, until it is closed; tell whether."""
        return _try(file, fcntl.LOCK_EX)

    def _try_share(file: int) -> bool:
        return _try(file, fcntl.LOCK_SH)

    def _try(file: int, way: int) -> bool:
        try:
            fcntl.flock(file, way | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
