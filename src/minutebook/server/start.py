"""Start as the daemon of a place, unless there is one: what `attach.py` runs.

Of many that start at once all but one end here, before anything heavy is imported.
"""

import sys
from pathlib import Path

from minutebook.server.attach import TAKEN
from minutebook.server.meeting import meeting
from minutebook.store.filelock import FileLock


def main(address: str, given: str) -> None:
    """Claim the place of an address, and be its daemon."""
    place = meeting(address)
    lock = FileLock(Path(place.lock))
    if not lock.try_acquire():
        sys.exit(TAKEN)
    from minutebook.server import daemon

    daemon.main(given, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
