"""Transactions in the write-ahead log that SQLite does not read, because a frame before them is damaged.

SQLite reads the log up to the first frame with a wrong checksum and takes the rest for the remains of a crash.
After a crash that is right. But if a disk damaged an earlier frame, whole transactions follow it, and they
would be lost without a message. The formats are those of https://www.sqlite.org/walformat.html.
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
"""The header of the log: magic number, version, page size, restarts, salts, checksum."""

_FRAME = struct.Struct(">II8sII")
"""The header of a frame: page, pages of the database after a commit (0 if it is not the last frame of one), salts, checksum."""

_MAGIC = 0x377F0682 >> 1
"""The magic number without the bit for the byte order of checksums."""

_OTHERS = 8
"""After this many frames with other salts in a row, the rest of the file counts as the remains of an earlier log."""


def keep_unread(connection: apsw.Connection, path: Path) -> Path | None:
    """Copy a database's log if it holds transactions that SQLite does not read; return the path of the copy, else None.

    `connection` must have read the database, and no process may write to it. An existing copy of this log
    stays. Raises OSError if the copy cannot be made.
    """
    if not unread_transactions(connection, path):
        return None
    log = log_of(path).read_bytes()
    aside = path.with_name(f"{path.name}-damaged-log-{log[16:24].hex()}")
    if not aside.exists():
        replace_file(aside, log)
    return aside


def kept(path: Path) -> list[Path]:
    """Return the copies of damaged logs beside a database, sorted."""
    return sorted(path.parent.glob(f"{path.name}-damaged-log-*"))


def unread_transactions(connection: apsw.Connection, path: Path) -> int:
    """Return the number of whole transactions in the log of an open database that SQLite does not read.

    Damage in the last frame alone does not count: a killed writer leaves the same. A transaction that another process is
    writing may be counted. The file `-shm` is not read, since closing it would end SQLite's locks.
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
        # None, too, if the log was restarted and nothing was written since: its frames are of the log before.
        bad = log.first_bad(frames)
        return 0 if bad is None else _transactions_after(log, bad)
    return 0


class _Head(NamedTuple):
    """The header of a frame: its bytes `start`, whether it ends a transaction, its salts and checksums."""

    start: bytes
    ends: bool
    salts: bytes
    sums: tuple[int, int]


class _Log(NamedTuple):
    """A log with the fields of its header; `is_sound` tells whether the header has the right checksum."""

    file: BinaryIO
    page: int
    salts: bytes
    sums: tuple[int, int]
    order: str
    is_sound: bool

    @classmethod
    def from_file(cls, file: BinaryIO) -> "_Log | None":
        """Read the header of a log; return None if no frame follows it."""
        start, first = file.read(_HEADER.size), file.read(_FRAME.size)
        if len(first) < _FRAME.size:
            return None
        magic, _, page, _, salts, one, other = _HEADER.unpack(start)
        order = ">" if magic & 1 else "<"
        is_sound = magic >> 1 == _MAGIC and _checksum(start[:24], order) == (one, other)
        if not is_sound:
            # Each frame has a copy of the salts.
            page, salts = _possible(page), _FRAME.unpack(first)[2]
        return cls(file, page, salts, (one, other), order, is_sound)

    def head(self, number: int) -> _Head:
        """Return the header of a frame, counted from 0; the next read of the file returns its page."""
        self.file.seek(_HEADER.size + number * (_FRAME.size + self.page))
        start = self.file.read(_FRAME.size)
        _, ends, salts, one, other = _FRAME.unpack(start)
        return _Head(start, ends != 0, salts, (one, other))

    def heads(self, first: int) -> Iterator[tuple[int, _Head]]:
        """Yield the number and header of each whole frame of this log, from the frame `first` on.

        Frames with other salts, of an earlier log, are left out; `_OTHERS` of them in a row end it.
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
        """The number of whole frames in the file, with those of an earlier log."""
        size = os.fstat(self.file.fileno()).st_size
        return (size - _HEADER.size) // (_FRAME.size + self.page)

    def first_bad(self, counted: int) -> int | None:
        """Return the number of the first damaged frame after the `counted` first ones; None if a sound commit comes before it."""
        sums = self.sums if not counted else self.head(counted - 1).sums
        for number in range(counted, self.frames):
            head = self.head(number)
            sums = _checksum(head.start[:8] + self.file.read(self.page), self.order, sums)
            if head.salts != self.salts or sums != head.sums:
                return number
            if head.ends:
                return None
        return None


def _transactions_after(log: _Log, bad: int) -> int:
    """Return the number of transactions that end at or after the frame `bad`; 0 if that is the last frame of the log."""
    heads = [(number, head.ends) for number, head in log.heads(bad)]
    is_last = all(number <= bad for number, _ in heads)
    return 0 if is_last else sum(ends for _, ends in heads)


def _possible(page: int) -> int:
    """Return the page size from a damaged header if it is a possible one, else SQLite's default."""
    return page if page in {512 << power for power in range(8)} else 4096


def _checksum(content: bytes, order: str, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Return SQLite's checksum of bytes, eight at a time, continued from another."""
    one, other = sums
    for left, right in struct.iter_unpack(f"{order}II", content):
        one = (one + left + other) & 0xFFFFFFFF
        other = (other + right + one) & 0xFFFFFFFF
    return one, other
