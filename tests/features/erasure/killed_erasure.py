"""An erasure that is killed: `python -m tests.features.erasure.killed_erasure HOME STEP ID…`.

It kills itself before the step of that number: each writes, names or removes a file, begins a transaction,
or makes a part of the store anew. It says `done` if there were fewer.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minutebook.features.erasure import order as erasure_order
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.store.sidecar import files
from minutebook.store.sqlite import SqliteStore, texts
from minutebook.store.sqlite.connections import Connections
from tests.features.erasure.given import PERSON
from tests.world import worlds


def main(home: str, step: str, *ids: str) -> None:
    """Erase, and be killed."""
    left = int(step)

    def stepping(function: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return stepped

    with worlds(Path(home)) as open_one:
        app = open_one().app
        for owner, name in (
            *((os, each) for each in ("replace", "unlink")),
            (Path, "unlink"),
            (SqliteStore, "transaction"),
            (SqliteStore, "delete"),
            (texts, "purge"),
            (Connections, "rewrite"),
            (files, "remove_all"),
            (files, "save"),
            (erasure_order, "sync_folder"),
        ):
            setattr(owner, name, stepping(getattr(owner, name)))
        records = app.get(Erasing).find(PERSON, Choice(ids))
        app.get(Erasing).erase(PERSON, records, backups=True, from_ledger=True)
    print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
