"""Read small files in folders that are not trusted: regular files only, of limited size, without waiting."""

import os
import stat
from pathlib import Path

LARGEST = 256 * 1024
"""Bytes of a file; a larger one is not read."""


def read_small(path: Path) -> str | None:
    """Return the text of a file; None if there is none.

    Raises OSError if it is not a regular file, is too large, is not UTF-8, or cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "is no regular file")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(None, f"has more than {LARGEST} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise OSError(None, "is no text in UTF-8") from None
