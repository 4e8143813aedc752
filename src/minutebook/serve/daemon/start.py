"""Start as the daemon of a place, unless there is one.

Of many that start at once all but one end here, before anything heavy is imported.
"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from minutebook.record.errors import StoreError
from minutebook.serve.daemon.rendezvous import (
    TAKEN,
    DaemonAddress,
    all_of_this_user,
    daemon_address,
)
from minutebook.store.disk.filelock import FileLock

FOLLOWS = "follows"
"""What a process is given last that takes the place of the daemon that starts it."""

_STDOUT, _STDERR = 1, 2
_TAKES_OVER_WITHIN = 60.0
_POLL = 0.01


def main(address: str, options: str, follows: str = "") -> None:
    """Claim the place of an address, and be its daemon.

    With `follows` the daemon that is there gives it up once this process says that it is ready.
    """
    began = time.monotonic()
    daemon = daemon_address(address)
    lock = _taken_over(daemon) if follows else _claimed(daemon)
    if lock is None:
        sys.exit(TAKEN)
    clear_away_dead()
    from minutebook.serve.daemon import process

    def successor() -> int:
        """Start a process that takes this one's place; return the pipe on which it says that it is ready."""
        from minutebook.serve.daemon.spawning import spawned

        reading, writing = os.pipe()
        # What stands for stderr here by now may be a client's.
        folder = Path(daemon.lock).parent
        spawned(address, options, FOLLOWS, log=_STDERR, folder=folder, stdout=writing)
        os.close(writing)
        return reading

    process.main(options, daemon, lock.is_in_place, began, successor)


def _taken_over(daemon: DaemonAddress) -> FileLock | None:
    """Say on stdout that this process is ready, and hold the lock of a place once its daemon gave it up."""
    # What takes the time of a start, before anybody waits for it.
    from minutebook import app  # noqa: F401
    from minutebook.serve.daemon import process  # noqa: F401

    os.write(_STDOUT, b"ready")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, _STDOUT)
    os.close(nothing)
    until = time.monotonic() + _TAKES_OVER_WITHIN
    while time.monotonic() < until:
        if (lock := _claimed(daemon)) is not None:
            return lock
        time.sleep(_POLL)
    return None


def clear_away_dead() -> None:
    """Delete lock and socket files of daemons that no longer run."""
    for daemon in all_of_this_user():
        # What cannot be taken away there keeps nobody from being a daemon here.
        with suppress(OSError, StoreError):
            if (lock := _claimed(daemon)) is not None:
                daemon.unlink()
                lock.close()


def _claimed(daemon: DaemonAddress) -> FileLock | None:
    """Hold the lock of a place; None where another has it.

    Its file may be taken away between being opened and being locked; the next is another.
    """
    while True:
        lock = FileLock(Path(daemon.lock))
        if lock.try_acquire():
            if lock.is_in_place():
                return lock
            lock.close()
        else:
            lock.close()
            return None


if __name__ == "__main__":
    main(*sys.argv[1:])
