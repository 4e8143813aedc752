"""A sync that is killed: `python -m tests.features.sync.killed_sync HOME MACHINE REMOTE STEP [compact]`.

It kills itself before the step of that number: each writes, flushes, names or removes a file, or begins or
ends a transaction. It says `done` if there were fewer.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import remote_of
from tests.faults.stepping import stepped
from tests.features.sync.joined_machines import PERSON, opened


def main(home: str, machine: str, remote: str, step: str, compact: str = "") -> None:
    """Sync, and be killed."""
    steps = count(1)

    def before(_: str) -> None:
        if next(steps) == int(step):
            os.kill(os.getpid(), signal.SIGKILL)

    world = opened(Path(home), machine)
    stepped(("files", "transactions", "git", "sync"), before)
    place = remote_of(remote, Path(home) / machine / ".sync", Path(home))
    world.app.get(MachineSync).run(PERSON, place, compact=bool(compact))
    print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
