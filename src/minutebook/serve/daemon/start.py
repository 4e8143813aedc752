"""Become the daemon of an address, unless another process is.

Of many processes that start at once, all but one end here, before anything heavy is imported.
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
"""The last argument of a process that succeeds the daemon which starts it."""

_STDOUT, _STDERR = 1, 2
_TAKES_OVER_WITHIN = 60.0
_POLL = 0.01


def main(address: str, options: str, follows: str = "") -> None:
    """Claim an address, and be its daemon; exit with TAKEN if another process is.

    `options` is JSON of the options of the client that started the daemon, and their folder. If `follows` is not empty, the
    present daemon gives the address up once this process says that it is ready.
    """
    began = time.monotonic()
    daemon = daemon_address(address)
    lock = _take_over(daemon) if follows else _claim(daemon)
    if lock is None:
        sys.exit(TAKEN)
    remove_dead()
    from minutebook.serve.daemon import process

    def successor() -> int:
        """Start the process that succeeds this one; return the pipe on which it says that it is ready."""
        from minutebook.serve.daemon.spawning import spawn_daemon

        reading, writing = os.pipe()
        # The file descriptor, since `sys.stderr` may be a client's by now.
        folder = Path(daemon.lock).parent
        spawn_daemon(address, options, FOLLOWS, log=_STDERR, folder=folder, stdout=writing)
        os.close(writing)
        return reading

    process.main(options, daemon, lock.is_in_place, began, successor)


def _take_over(daemon: DaemonAddress) -> FileLock | None:
    """Say on stdout that this process is ready, then await the lock of the present daemon; None if it keeps it."""
    # These imports take most of the time of a start: they are done while the present daemon still serves.
    from minutebook import app  # noqa: F401
    from minutebook.serve.daemon import process  # noqa: F401

    os.write(_STDOUT, b"ready")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, _STDOUT)
    os.close(nothing)
    until = time.monotonic() + _TAKES_OVER_WITHIN
    while time.monotonic() < until:
        if (lock := _claim(daemon)) is not None:
            return lock
        time.sleep(_POLL)
    return None


def remove_dead() -> None:
    """Delete the locks and sockets of daemons that no longer run."""
    for daemon in all_of_this_user():
        # A file that cannot be deleted does not keep this daemon from running.
        with suppress(OSError, StoreError):
            if (lock := _claim(daemon)) is not None:
                daemon.unlink()
                lock.close()


def _claim(daemon: DaemonAddress) -> FileLock | None:
    """Return the lock of an address, held; None if another process holds it.

    If the file is deleted between being opened and being locked, the lock is taken again.
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
