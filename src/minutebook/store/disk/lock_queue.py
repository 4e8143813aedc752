"""The queue of waiters for a lock, first come, first served.

A waiter is a file in a folder, named for the instant of its arrival and locked by its process. The
operating system unlocks it when the process dies, so a killed waiter delays nobody.
"""

import os
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

from minutebook.store.disk.os_locks import try_lock

_NUMBERS = count()


class QueuePlace:
    """A place in a queue; `leave` it when the lock was taken or the wait is given up."""

    def __init__(self, folder: Path, name: str, file: int) -> None:
        self._folder = folder
        self._name = name
        self._file = file

    def is_first(self) -> bool:
        """Tell whether no living process came before; remove the places of dead ones."""
        try:
            names = sorted((each.name for each in self._folder.iterdir()), key=_arrival)
        except FileNotFoundError:
            return True
        for name in names:
            if _arrival(name) >= self._name:
                break
            if _is_alive(self._folder / name):
                return False
            (self._folder / name).unlink(missing_ok=True)
        return True

    def leave(self) -> None:
        """Leave the queue; the last to leave removes its folder."""
        (self._folder / self._name).unlink(missing_ok=True)
        os.close(self._file)
        with suppress(OSError):
            self._folder.rmdir()


def longest_wait(folder: Path) -> float:
    """Return the seconds that the first waiter, even a killed one, has been in the queue; 0 if the queue is empty."""
    try:
        first = min((_arrival(each.name) for each in folder.iterdir()), default=None)
        return 0.0 if first is None else (time.monotonic_ns() - int(first.partition(".")[0])) / 1e9
    except (OSError, ValueError):
        return 0.0


def queue_up(folder: Path) -> QueuePlace:
    """Take the last place. Raises OSError if the folder cannot be written."""
    while True:
        name = f"{time.monotonic_ns():020d}.{os.getpid()}.{next(_NUMBERS)}"
        draft = folder / f".{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            file = os.open(draft, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except FileNotFoundError:
            # The last waiter to leave has just removed the folder.
            continue
        # It gets its name once it is locked: a file without a lock counts as that of a dead process.
        with suppress(FileNotFoundError):
            if try_lock(file):
                draft.rename(folder / name)
                return QueuePlace(folder, name, file)
        os.close(file)


def _arrival(name: str) -> str:
    return name.removeprefix(".")


def _is_alive(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return False
    try:
        return not try_lock(file)
    finally:
        os.close(file)
