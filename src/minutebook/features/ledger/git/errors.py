"""The messages of Git and the disk, as LedgerErrors with a reason and a remedy."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2

from minutebook.record.errors import LedgerError
from minutebook.record.reason import Reason

_REMEDIES = (
    ("No space left", Reason("the disk is full"), Reason("make room on the disk, then try again")),
    (
        "quota exceeded",
        Reason("the quota of the disk is used up"),
        Reason("make room, or have it raised, then try again"),
    ),
    (
        "File too large",
        Reason("a file may not grow any more"),
        Reason("raise the limit on the size of files"),
    ),
    (
        "Permission denied",
        Reason("it may not be written"),
        Reason("give this user the right to write there"),
    ),
    (
        "Too many open files",
        Reason("this process may open no more files"),
        Reason("raise its limit: `ulimit -n`"),
    ),
    (
        "Input/output error",
        Reason("the disk failed to read or write"),
        Reason("look at the disk, then try again"),
    ),
    (
        "Read-only file system",
        Reason("it may not be written"),
        Reason("name a ledger on a disk for writing"),
    ),
    (
        "mandatory extension",
        Reason("its index is split or sparse"),
        Reason(
            "run `git update-index --no-split-index`, or `git sparse-checkout reapply "
            "--no-sparse-index`, there"
        ),
    ),
    (
        "not owned by current user",
        Reason("it belongs to another user"),
        Reason("run `git config --global --add safe.directory PATH`, or make it this user's own"),
    ),
)
_LEAST_FREE = 1 << 16
"""Bytes; a disk with less free room cannot take a commit."""

_OTHER_REMEDY = Reason("run `git fsck` there; if it finds nothing, try again")


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise the errors inside as a LedgerError that names the repository."""
    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        message = str(error)
        if _is_full(path):
            message = f"No space left on device; {message}"
        for phrase, reason, remedy in _REMEDIES:
            if phrase in message:
                raise LedgerError(
                    "{path}: {cause} ({words})", remedy, path=path, cause=reason, words=message
                ) from error
        raise LedgerError("{path}: {words}", _OTHER_REMEDY, path=path, words=message) from error


def _is_full(path: Path) -> bool:
    """Tell whether the disk is full, as far as it can be told."""
    # libgit2 does not always say that a full disk kept it from writing.
    try:
        return shutil.disk_usage(path).free < _LEAST_FREE
    except OSError:
        return False
