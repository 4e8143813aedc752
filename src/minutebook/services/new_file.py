"""A file that is there whole, under its name and on the disk, or not at all."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from minutebook.domain.errors import InvalidInput, StoreError
from minutebook.store.filelock import try_lock

_PART = ".minutebook.part"
"""How the name of a file ends that is being written; it begins with a dot."""

_IS_WINDOWS = sys.platform == "win32"


@contextmanager
def new_file(path: Path, called: str) -> Iterator[BinaryIO]:
    """Give a file to write, for its owner's eyes, that gets its name when all is on the disk.

    `called` is the path as errors tell it.
    A process that is killed meanwhile leaves a part, which the next new file in that folder clears away.
    InvalidInput where the name is taken, StoreError where the file cannot be written.
    """
    try:
        for left in path.parent.glob(f".*{_PART}"):
            _clear(left)
        part, handle = _new_part(path)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not _IS_WINDOWS:
                    # While it is locked still: nobody is to take it for one that was left.
                    _give_name(part, path)
            if _IS_WINDOWS:
                part.rename(path)
            sync_folder(path.parent)
        finally:
            with suppress(FileNotFoundError):
                part.unlink()
    except FileExistsError as error:
        raise InvalidInput("file", f"must be new: {called} is there already") from error
    except OSError as error:
        raise StoreError(f"{called}: {error.strerror}; nothing was kept of it") from error


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system knows how."""
    if _IS_WINDOWS:
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _new_part(path: Path) -> tuple[Path, int]:
    """Make a file beside a path, locked as long as it is open."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_PART}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # Before it was locked, another may have taken it for one that was left.
        if _IS_WINDOWS or (try_lock(handle) and os.fstat(handle).st_nlink):
            return part, handle
        os.close(handle)


def _clear(part: Path) -> None:
    """Remove a part whose maker lives no more; one that cannot be removed stays."""
    with suppress(OSError):
        if _IS_WINDOWS:
            # What its maker has open cannot be removed there.
            part.unlink()
            return
        handle = os.open(part, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if try_lock(handle):
                part.unlink()
        finally:
            os.close(handle)


def _give_name(part: Path, path: Path) -> None:
    """Name a file without taking the name from another; FileExistsError."""
    try:
        # Unlike a rename, a link never takes the place of a file.
        path.hardlink_to(part)
    except PermissionError:
        # Some file systems know no links.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        part.replace(path)
