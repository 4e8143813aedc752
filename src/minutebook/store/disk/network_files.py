"""Whether a file is on a disk of this machine, or reached over a network."""

import os
import re
from pathlib import Path

_NETWORK = frozenset(
    {
        "9p",
        "afs",
        "ceph",
        "cifs",
        "fuse.cephfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "smb3",
        "smbfs",
    }
)
"""Types of file systems that several machines can mount at once."""

_MOUNTS = Path("/proc/self/mountinfo")


def network_type(path: Path) -> str | None:
    """Return the type of the network file system that a path is on; None for a disk, or if it is unknown.

    Only Linux tells it.
    """
    try:
        mounts = _MOUNTS.read_bytes()
    except OSError:
        return None
    return network_type_in(mounts, os.path.realpath(path))


def network_type_in(mounts: bytes, path: str) -> str | None:
    """Return the type of a path's file system if it is a network's; `mounts` as in /proc/self/mountinfo."""
    found, longest = None, -1
    for line in mounts.splitlines():
        # A varying number of fields stand before the hyphen; the fifth is the mount point.
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if len(fields) < 5 or not after:
            continue
        place = os.fsdecode(re.sub(rb"\\([0-7]{3})", _unescaped, fields[4]))
        is_above = path == place or path.startswith(place.rstrip("/") + "/")
        # A later mount hides an earlier one at its place.
        if is_above and len(place) >= longest:
            found, longest = os.fsdecode(after.split(b" ")[0]), len(place)
    return found if found in _NETWORK else None


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8)])
