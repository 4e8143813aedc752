"""Start as the daemon of a place, unless there is one: what `attach.py` runs.

Of many that start at once all but one end here, before anything heavy is imported.
"""

import sys
from pathlib import Path

from minutebook.server.attach import TAKEN
from minutebook.server.meeting import all_of_this_user, meeting
from minutebook.store.filelock import FileLock


def main(address: str, given: str) -> None:
    """Claim the place of an address, and be its daemon."""
    place = meeting(address)
    lock = FileLock(Path(place.lock))
    if not lock.try_acquire():
        sys.exit(TAKEN)
    clear_away_dead()
    from minutebook.server import daemon

    daemon.main(given, place)


def clear_away_dead() -> None:
    """Leave no trace of daemons that were killed: whose lock can be had is dead."""
    for place in all_of_this_user():
        lock = FileLock(Path(place.lock))
        if lock.try_acquire():
            place.take_away()
        lock.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
