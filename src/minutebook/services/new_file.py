"""A file that is there whole, under its name and on the disk, or not at all."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from minutebook.domain.errors import InvalidInput, StoreError


@contextmanager
def new_file(path: Path, called: str) -> Iterator[BinaryIO]:
    """Give a file to write, for its owner's eyes, that gets its name when all is on the disk.

    `called` is the path as errors tell it.
    A process that is killed meanwhile leaves `.NAME.….part` at most. InvalidInput where the name is
    taken, StoreError where the file cannot be written.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _give_name(part, path)
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
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _give_name(part: Path, path: Path) -> None:
    """Name a file without taking the name from another; FileExistsError."""
    if sys.platform == "win32":
        part.rename(path)
        return
    try:
        # Unlike a rename, a link never takes the place of a file.
        path.hardlink_to(part)
    except PermissionError:
        # Some file systems know no links.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        part.replace(path)
