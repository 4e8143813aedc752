"""The steps of a process: wherever it writes, flushes, names or removes a file, or begins a transaction.

`stepped` has a function called before each step, which may kill the process or raise an error. The engine's own
steps are seen by a file system of SQLite's below it, Git's where our code calls it.
"""

import os
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from itertools import count
from typing import Any, ClassVar

import apsw

Before = Callable[[str], None]
"""Is told the name of the step that comes next, such as `write minutebook.db-wal`."""


def stepped(points: Collection[str], before: Before) -> None:
    """Have a function called before each step at some points, for the rest of this process."""
    for point in points:
        POINTS[point](before)


def _wrap(owner: Any, name: str, before: Before) -> None:
    function = getattr(owner, name)

    @wraps(function)
    def step(*arguments: Any, **named: Any) -> Any:
        before(name)
        return function(*arguments, **named)

    setattr(owner, name, step)


def _files(before: Before) -> None:
    for name in ("fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir"):
        _wrap_named(name, before)


def _wrap_named(name: str, before: Before) -> None:
    """Wrap a function of `os` whose first argument is a path or an open file."""
    function = getattr(os, name)

    @wraps(function)
    def step(file: Any, *arguments: Any, **named: Any) -> Any:
        path = _path_of(file) if isinstance(file, int) else os.fspath(file)
        before(f"{name} {os.path.basename(path)}")  # noqa: PTH119
        return function(file, *arguments, **named)

    setattr(os, name, step)


def _path_of(handle: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - no path where it is none
    except OSError:
        return ""


def _transactions(before: Before) -> None:
    from minutebook.store.sqlite import SqliteStore

    _wrap(SqliteStore, "transaction", before)


def _git(before: Before) -> None:
    import pygit2

    from minutebook.features.ledger.git import write_intent
    from minutebook.features.ledger.git.checkout import Checkout
    from minutebook.features.ledger.git.writer import Writer
    from minutebook.features.ledger.mirror.tables import DecisionTables

    for owner, name in (
        *((pygit2.Repository, each) for each in ("create_blob", "create_commit")),
        *((Writer, each) for each in ("recover", "_commit", "_move_branch", "_drop_lock")),
        *((Checkout, each) for each in ("_make_index", "_install_index", "finish", "abandon")),
        *((write_intent, each) for each in ("remove",)),
        *((write_intent.PendingWrite, each) for each in ("write",)),
        *((DecisionTables, each) for each in ("put_mark", "take_in")),
    ):
        _wrap(owner, name, before)


def _database(before: Before) -> None:
    _FileSystem(before)


def _sync(before: Before) -> None:
    from minutebook.features.sync.rows import SyncRows

    for name in ("put_marks", "sent", "unsent"):
        _wrap(SyncRows, name, before)


POINTS: Mapping[str, Callable[[Before], None]] = {
    "files": _files,
    "transactions": _transactions,
    "database": _database,
    "git": _git,
    "sync": _sync,
}
"""Where there are steps, by name: files, transactions begun, the database's own files, Git, a sync's tables."""


class _FileSystem(apsw.VFS):
    """Opens SQLite's files so that `before` is called before each is written, flushed, cut or removed."""

    _numbers: ClassVar = count()
    _kept: ClassVar[list["_FileSystem"]] = []

    def __init__(self, before: Before) -> None:
        self._before = before
        super().__init__(f"stepped{next(self._numbers)}", "unix", makedefault=True)
        # SQLite knows it as long as it is referred to.
        self._kept.append(self)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(name, flags, self._before)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._before(f"delete {os.path.basename(filename)}")  # noqa: PTH119
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(
        self, name: str | apsw.URIFilename | None, flags: list[int], before: Before
    ) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = os.path.basename(path or "scratch")  # noqa: PTH119
        self._before = before
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._before(f"write {self._name}")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._before(f"sync {self._name}")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        self._before(f"truncate {self._name}")
        super().xTruncate(newsize)
