"""Tests whether files can be written in a folder, and whether its disk is almost full."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from minutebook.record.reason import Reason, Word

OBSTACLES: Mapping[int, Reason] = {
    errno.ENOSPC: Reason("the disk is full"),
    errno.EDQUOT: Reason("the quota of this user or folder is used up"),
}
"""The reasons why no file can be written, by the number of the error."""

_LEAST = 64 << 20
"""Free bytes that an index may need."""
_TRIED = 65_536
"""Bytes written to test a folder."""


def write_error_in(folder: Path) -> int:
    """Write a temporary file in a folder; return the number of the error, 0 if it could be written."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(_TRIED))
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno or 0
    return 0


def write_obstacle_in(folder: Path) -> Word | None:
    """Return the reason why no new file can be written in a folder; None if one can be."""
    number = write_error_in(folder)
    return Word(OBSTACLES.get(number, os.strerror(number))) if number else None


def is_almost_full(folder: Path) -> bool:
    """Tell whether less than a twentieth of a folder's disk is free, and less than an index may need."""
    disk = shutil.disk_usage(folder)
    return disk.free < min(_LEAST, disk.total / 20)
