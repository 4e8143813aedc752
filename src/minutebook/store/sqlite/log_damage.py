"""Writes in the write-ahead log that SQLite does not read, because something before them is damaged.

SQLite reads the log up to the first frame whose checksum is wrong and takes the rest for what a crash left
behind. After a crash that is true. If a disk damaged an earlier frame, whole transactions follow it, and they
would be gone without a word. The formats are those of https://www.sqlite.org/walformat.html.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import apsw

from minutebook.store.disk.atomic_file import replace_file
from minutebook.store.sqlite.missing_database import log_of

_HEADER = struct.Struct(">IIII8sII")
"""Of the log: magic number, version, page size, restarts, salts, checksum."""

_FRAME = struct.Struct(">II8sII")
"""Of a frame: page, pages of the database after a commit (0 where it ends none), salts, checksum."""

_MAGIC = 0x377F0682 >> 1
"""The magic number, but for the bit that says in which order bytes are added up."""

_OTHERS = 8
"""Frames of another time in a row, after which the rest of the file is taken for left over."""


def keep_unread(connection: apsw.Connection, path: Path) -> Path | None:
    """Put a copy of a database's log aside if it holds transactions that SQLite does not read; return where.

    `connection` has read the database, and no process writes to it. None if there are none; a copy that is there
    already is left as it is. Raises OSError if the copy cannot be made.
    """
    if not unread_transactions(connection, path):
        return None
    log = log_of(path).read_bytes()
    aside = path.with_name(f"{path.name}-damaged-log-{log[16:24].hex()}")
    if not aside.exists():
        replace_file(aside, log)
    return aside


def kept(path: Path) -> list[Path]:
    """Return the copies that were put aside, sorted."""
    return sorted(path.parent.glob(f"{path.name}-damaged-log-*"))


def unread_transactions(connection: apsw.Connection, path: Path) -> int:
    """Count the whole transactions in the log of an open database that SQLite does not read.

    What is damaged at its last frame alone is not counted: a writer that was killed there leaves the same. Those of
    another process that is writing are counted for a moment. `-shm` is not read, since to close it would end SQLite's locks.
    """
    frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    if frames < 0:
        return 0
    with suppress(FileNotFoundError), log_of(path).open("rb") as file:
        log = _Log.from_file(file)
        if log is None:
            return 0
        if not log.is_sound:
            return max(1, sum(head.ends for _, head in log.heads(0)))
        # None, too, of a log that was begun anew and to which nobody has written since: its frames are of before.
        bad = log.first_bad(frames)
        return 0 if bad is None else _behind(log, bad)
    return 0


class _Head(NamedTuple):
    """The header of a frame; `ends` if it ends a transaction."""

    start: bytes
    ends: bool
    salts: bytes
    sums: tuple[int, int]


class _Log(NamedTuple):
    """A log with its header as it stands in the file; `is_sound` if that has the right checksum."""

    file: BinaryIO
    page: int
    salts: bytes
    sums: tuple[int, int]
    order: str
    is_sound: bool

    @classmethod
    def from_file(cls, file: BinaryIO) -> "_Log | None":
        """Read the header; None if there is not a frame behind it."""
        start, first = file.read(_HEADER.size), file.read(_FRAME.size)
        if len(first) < _FRAME.size:
            return None
        magic, _, page, _, salts, one, other = _HEADER.unpack(start)
        order = ">" if magic & 1 else "<"
        is_sound = magic >> 1 == _MAGIC and _checksum(start[:24], order) == (one, other)
        if not is_sound:
            # The frames still have the salts that the header had.
            page, salts = _possible(page), _FRAME.unpack(first)[2]
        return cls(file, page, salts, (one, other), order, is_sound)

    def head(self, number: int) -> _Head:
        """Return the header of a frame, counted from 0; its page is the file's next."""
        self.file.seek(_HEADER.size + number * (_FRAME.size + self.page))
        start = self.file.read(_FRAME.size)
        _, ends, salts, one, other = _FRAME.unpack(start)
        return _Head(start, ends != 0, salts, (one, other))

    def heads(self, first: int) -> Iterator[tuple[int, _Head]]:
        """Yield the headers of the whole frames of this log from one on, with their numbers.

        Left out are those of another time; many of them in a row are what was left over, and end it.
        """
        others = 0
        for number in range(first, self.frames):
            head = self.head(number)
            others = 0 if head.salts == self.salts else others + 1
            if others == _OTHERS:
                return
            if not others:
                yield number, head

    @property
    def frames(self) -> int:
        """The number of whole frames in the file, of whatever time."""
        size = os.fstat(self.file.fileno()).st_size
        return (size - _HEADER.size) // (_FRAME.size + self.page)

    def first_bad(self, counted: int) -> int | None:
        """Return the first frame that is not sound behind those that count; None if a commit comes first."""
        sums = self.sums if not counted else self.head(counted - 1).sums
        for number in range(counted, self.frames):
            head = self.head(number)
            sums = _checksum(head.start[:8] + self.file.read(self.page), self.order, sums)
            if head.salts != self.salts or sums != head.sums:
                return number
            if head.ends:
                return None
        return None


def _behind(log: _Log, bad: int) -> int:
    """Count the transactions that end at a bad frame or behind it, if it is not the last of the log."""
    heads = [(number, head.ends) for number, head in log.heads(bad)]
    is_last = all(number <= bad for number, _ in heads)
    return 0 if is_last else sum(ends for _, ends in heads)


def _possible(page: int) -> int:
    """Return a page size that may be damaged if it can be one, else SQLite's own."""
    return page if page in {512 << power for power in range(8)} else 4096


def _checksum(content: bytes, order: str, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Return SQLite's checksum of bytes, eight at a time, continued from another."""
    one, other = sums
    for left, right in struct.iter_unpack(f"{order}II", content):
        one = (one + left + other) & 0xFFFFFFFF
        other = (other + right + one) & 0xFFFFFFFF
    return one, other
