"""Stores to move records between, and a process that is killed while it does.

`python -m tests.features.migration.moves SOURCE FOLDER TARGET FOLDER AFTER` moves and is killed inside the
transaction of one batch, when so many have been committed.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from minutebook.app import now
from minutebook.features.migration import migration, rows
from minutebook.features.migration.migration import Migration
from minutebook.features.postgres.store import PostgresStore
from minutebook.store.protocol import Tended
from minutebook.store.sqlite import SqliteStore
from tests.features.postgres.server import server
from tests.store.sqlite_engine import DATABASE

BATCH = 4


def opened(engine: str, folder: Path, wait: float = 30.0) -> Tended:
    """Open a store, also one into which a move was cut short; who writes waits so many seconds."""
    if engine == "sqlite":
        return SqliteStore(folder / DATABASE, durability="normal", writer_wait=wait, receives=True)
    return PostgresStore(
        server().url((folder / "database").read_text()),
        folder / "index",
        durability="normal",
        writer_wait=wait,
        pool=2,
        receives=True,
    )


def _killed_after(batches: int) -> None:
    module: Any = rows
    module.note_received = partial(_count, module.note_received, iter(range(batches)))


def _count(note: Callable[..., None], left: Iterator[int], *arguments: object) -> None:
    if next(left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    note(*arguments)


def main() -> None:
    source, source_folder, target, target_folder, after = sys.argv[1:]
    migration.BATCH = BATCH
    _killed_after(int(after))
    giving, taking = opened(source, Path(source_folder)), opened(target, Path(target_folder))
    Migration(giving, taking, now).run(lambda part, what: None)


if __name__ == "__main__":
    main()
