"""Detects a lost database: one that is missing or empty where a store was kept must not open as a new one."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from minutebook.record.errors import StoreLost
from minutebook.record.reason import Reason
from minutebook.store.sqlite.errors import RESCUE

_MARK = b"A store was made beside this file.\n"


def check_not_lost(path: Path, beside: Sequence[Path] = ()) -> None:
    """Raise StoreLost if the database is missing or empty and there are traces of one.

    Traces are the mark in the lock file, a log, an index, and each path in `beside` that exists
    and is not empty. SQLite itself would delete the log of an empty database.
    """
    size = _size(path)
    if size:
        return
    traces = [*_marked(path), *filter(_holds_anything, (log_of(path), index_of(path), *beside))]
    if not traces:
        return
    state = Reason("is missing") if size is None else Reason("is empty (0 bytes)")
    names = ", ".join(trace.name for trace in traces)
    what = Reason(
        "{path} {state}, but a store was kept here; still there: {names}",
        path=path,
        state=state,
        names=names,
    )
    anew = Reason("`minutebook doctor --start-anew` begins an empty store")
    raise StoreLost(
        Reason(
            "{what}. Nothing was changed. {rescue}; {anew}", what=what, rescue=RESCUE, anew=anew
        ),
        what,
    )


def mark(path: Path) -> None:
    """Note in the lock file of a database that it holds a store."""
    lock = lock_of(path)
    # If another process has the file locked, the next one that opens the store marks it.
    with suppress(OSError):
        if not _size(lock):
            lock.write_bytes(_MARK)


def put_aside(path: Path, aside: Path) -> None:
    """Move the remains of a database, and its log, into a folder; remove the files derived from it."""
    for left in (path, log_of(path)):
        if left.exists():
            left.rename(aside / left.name)
    shutil.rmtree(index_of(path), ignore_errors=True)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    if lock_of(path).exists():
        os.truncate(lock_of(path), 0)


def lock_of(path: Path) -> Path:
    """Return the path of a database's lock file."""
    return path.with_name(f"{path.name}-lock")


def index_of(path: Path) -> Path:
    """Return the folder with the vector indices of a database."""
    return path.with_name(f"{path.name}-index")


def log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def _marked(path: Path) -> list[Path]:
    lock = lock_of(path)
    return [lock] if _size(lock) else []


def _holds_anything(path: Path) -> bool:
    if path.is_dir():
        return any(each.is_file() for each in path.rglob("*"))
    return bool(_size(path))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
