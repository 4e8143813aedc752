"""Tell whether Git has looked at a work tree on this machine, by the index that it keeps of the files."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

_READ = 1 << 16
"""Bytes of an index that are read: of some hundred files."""

_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
"""Of a file: seconds and nanoseconds of its last change of state and of content, device, inode and more, its SHA-1, flags."""

_EXTENDED = 0x4000


def has_seen(index: Path, root: Path) -> bool:
    """Tell whether an index knows a file of the work tree by its inode and last change of state.

    These are given when a file is made, so that none that came in an archive has those of an index beside it.
    """
    try:
        with index.open("rb") as file:
            data = file.read(_READ)
    except OSError:
        return False
    for name, seconds, nanoseconds, inode in _entries(data):
        try:
            found = os.lstat(root / os.fsdecode(name))
        except (OSError, ValueError):
            continue
        changed = divmod(found.st_ctime_ns, 1_000_000_000)
        # Some builds of Git keep whole seconds.
        is_same = changed == (seconds, nanoseconds or changed[1])
        if is_same and inode and found.st_ino & 0xFFFFFFFF == inode:
            return True
    return False


def _entries(data: bytes) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield name, second and nanosecond of the last change of state, and inode, as far as the index was read."""
    if len(data) < _HEADER.size:
        return
    mark, version, count = _HEADER.unpack_from(data)
    if mark != b"DIRC" or version not in (2, 3, 4):
        return
    at, name = _HEADER.size, b""
    for _ in range(count):
        if at + _ENTRY.size + 2 > len(data):
            return
        fields = _ENTRY.unpack_from(data, at)
        flags = fields[-1]
        start = at + _ENTRY.size + (2 if version >= 3 and flags & _EXTENDED else 0)
        kept = b""
        if version == 4:
            dropped, start = _varint(data, start)
            kept = name[: max(0, len(name) - dropped)]
        end = data.find(b"\0", start)
        if end < 0:
            return
        name = kept + data[start:end]
        yield name, fields[0], fields[1], fields[5]
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of the prefix compression of version 4, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80 and at + 1 < len(data):
        at += 1
        value = (value + 1 << 7) | data[at] & 0x7F
    return value, at + 1
