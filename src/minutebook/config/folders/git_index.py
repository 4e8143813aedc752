"""Tell, by the index of a work tree, whether Git has read the tree on this machine."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

_READ = 1 << 16
"""Bytes of an index that are read: some hundred entries."""

_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
"""An entry: seconds and nanoseconds of the file's ctime and mtime, device, inode and more, its SHA-1, flags."""

_EXTENDED = 0x4000


def has_seen(index: Path, root: Path) -> bool:
    """Tell whether an index has an entry with the inode and ctime of its file in the work tree.

    The system sets both when a file is made, so that files from an archive do not have those of an index in it.
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
        # Some builds of Git store whole seconds.
        is_same = changed == (seconds, nanoseconds or changed[1])
        if is_same and inode and found.st_ino & 0xFFFFFFFF == inode:
            return True
    return False


def _entries(data: bytes) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield name, ctime in seconds and nanoseconds, and inode of each entry that is whole in `data`."""
    if len(data) < _HEADER.size:
        return
    mark, version, count = _HEADER.unpack_from(data)
    if mark != b"DIRC" or version not in (2, 3, 4):
        return
    offset, name = _HEADER.size, b""
    for _ in range(count):
        if offset + _ENTRY.size + 2 > len(data):
            return
        fields = _ENTRY.unpack_from(data, offset)
        flags = fields[-1]
        start = offset + _ENTRY.size + (2 if version >= 3 and flags & _EXTENDED else 0)
        prefix = b""
        if version == 4:
            dropped, start = _varint(data, start)
            prefix = name[: max(0, len(name) - dropped)]
        end = data.find(b"\0", start)
        if end < 0:
            return
        name = prefix + data[start:end]
        yield name, fields[0], fields[1], fields[5]
        offset = end + 1 if version == 4 else offset + (end - offset + 8) // 8 * 8


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number at an offset, in the encoding of version 4's prefix compression, and the offset of its end."""
    value = data[offset] & 0x7F
    while data[offset] & 0x80 and offset + 1 < len(data):
        offset += 1
        value = (value + 1 << 7) | data[offset] & 0x7F
    return value, offset + 1
