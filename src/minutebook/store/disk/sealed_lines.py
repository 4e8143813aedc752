"""Files of lines under a seal: the last line has the digest of all lines before it."""

import hashlib
import os
from stat import S_ISREG
from typing import BinaryIO

from minutebook.record.json_lines import json_line

LONGEST_LINE = 64 << 20
"""The most bytes of a line; a longer one is refused before it is read whole."""

SEAL = "sha256"


class SealedLines:
    """Writes lines, then their digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = hashlib.sha256()
        self.size = 0

    def write(self, line: bytes) -> None:
        """Write a line."""
        self._sum.update(line)
        self._file.write(line)
        self.size += len(line)

    def seal(self, **further: object) -> str:
        """Write the last line: the digest of all lines before it, and further fields. Return the digest."""
        self._file.write(json_line({SEAL: self.digest, **further}))
        return self.digest

    @property
    def digest(self) -> str:
        """The digest of all lines so far."""
        return self._sum.hexdigest()


def open_plain(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """Open a plain file for reading, without waiting for a pipe or following a link; return its file descriptor.

    Raises IsADirectoryError if the path is anything but a plain file, OSError if it cannot be opened.
    """
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags)
    if not S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise IsADirectoryError(0, "it is not a plain file")
    return handle
