"""A sync that is killed: `python -m tests.services.sync.killed_sync HOME MACHINE REMOTE STEP [compact]`.

It kills itself before the step of that number: each writes, flushes, names or removes a file, or begins or
ends a transaction. It says `done` if there were fewer.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minutebook.services.sync.remotes import remote_of
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.sync_rows import SqliteSyncRows
from tests.services.sync.joined_machines import PERSON, opened


def main(home: str, machine: str, remote: str, step: str, compact: str = "") -> None:
    """Sync, and be killed."""
    left = int(step)

    def stepping(function: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return stepped

    world = opened(Path(home), machine)
    for owner, name in (
        *((os, each) for each in ("fsync", "replace", "link", "unlink")),
        (SqliteStore, "transaction"),
        *((SqliteSyncRows, each) for each in ("put_marks", "sent", "unsent")),
    ):
        setattr(owner, name, stepping(getattr(owner, name)))
    place = remote_of(remote, Path(home) / machine / ".sync", Path(home))
    world.app.machine_sync.run(PERSON, place, compact=bool(compact))
    print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
