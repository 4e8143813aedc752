"""Start as the daemon of a place, unless there is one.

Of many that start at once all but one end here, before anything heavy is imported.
"""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.disk.filelock import FileLock
from minutebook.domain.errors import StoreError
from minutebook.server.daemon.rendezvous import (
    TAKEN,
    DaemonAddress,
    all_of_this_user,
    daemon_address,
)

if TYPE_CHECKING:
    from minutebook.server.daemon.commands import Run


def main(address: str, options: str, run_command: "Run") -> None:
    """Claim the place of an address, and be its daemon, which runs commands as it is told here."""
    began = time.monotonic()
    daemon = daemon_address(address)
    lock = _claimed(daemon)
    if lock is None:
        sys.exit(TAKEN)
    clear_away_dead()
    from minutebook.server.daemon import process

    process.main(options, daemon, run_command, lock.is_in_place, began)


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
