"""Whether a file can be written in a folder now, and how much room its disk has."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from minutebook.record.reason import Reason, Word

NO_ROOM: Mapping[int, Reason] = {
    errno.ENOSPC: Reason("the disk is full"),
    errno.EDQUOT: Reason("the quota of this user or folder is used up"),
}
"""What is said of a folder in which nothing grows, by the number of the error."""

_LEAST = 64 << 20
_MUCH = 65_536
"""Bytes that a new file of a folder has to be able to have."""


def why_nothing_grows(folder: Path) -> int:
    """Return the number of the error with which no new file of a folder can be written, or 0."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(_MUCH))
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno or 0
    return 0


def no_room_in(folder: Path) -> Word | None:
    """Say why no new file of a folder can be written; None if one can be."""
    number = why_nothing_grows(folder)
    return Word(NO_ROOM.get(number, os.strerror(number))) if number else None


def is_almost_full(folder: Path) -> bool:
    """Tell whether a twentieth of the disk of a folder is free, at most, and that is less than an index may take."""
    disk = shutil.disk_usage(folder)
    return disk.free < min(_LEAST, disk.total / 20)
