"""Locks by name for the processes of one machine: files that the system unlocks when a process ends."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minutebook.record.errors import StoreBusy, StoreError
from minutebook.record.reason import os_error_reason
from minutebook.store.disk.filelock import FileLock


class HeldFile:
    """A `Held` that cannot be lost: the system takes a file lock from no living process."""

    def check(self) -> None:
        """Raise nothing."""


class FileLocks:
    """`NamedLocks` in a folder; the system drops a lock when its holder dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, name: str, wait: float = 0.0) -> Iterator[HeldFile | None]:
        """Hold the lock of a name inside the block; yield None if another still has it after `wait` seconds.

        A lock does not exclude its own holder, so do not hold it inside itself. Raises StoreError
        if the folder cannot be written.
        """
        lock = self._lock(name)
        try:
            try:
                lock.acquire(wait)
            except StoreBusy:
                yield None
            else:
                yield HeldFile()
        finally:
            lock.close()

    def share(self, name: str) -> FileLock:
        """Hold the lock of a name, shared with others, until it is closed.

        Raises StoreBusy if another process holds it alone.
        """
        lock = self._lock(name)
        if not lock.try_share():
            lock.close()
            raise StoreBusy(
                "another process has {name} to itself at the moment; try again", name=name
            )
        return lock

    def is_held(self, name: str) -> bool:
        """Tell whether another holds the lock of a name now."""
        with self.hold(name) as held:
            return held is None

    def _lock(self, name: str) -> FileLock:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(os_error_reason(self._folder, error)) from error
        # A name may be long or hold any character; a file's name may not.
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        return FileLock(self._folder / f"{digest}.lock")
