"""The log of hooks in the data directory: a line for each call, without texts of sessions.

Standard library only, and little of it: the process of a hook writes it.
"""

import json
import os
import time

NAME = "hooks.log"

LARGEST = 256 * 1024
"""Bytes after which the log is renamed to `hooks.log.1`, in place of an older one."""


def append(home: str, **entry: object) -> None:
    """Append an entry with the present time. A failed write is ignored: a hook never fails."""
    path = os.path.join(home, NAME)
    line = json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry})
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # In one write: hooks of several sessions may write at once.
            os.write(handle, line.encode() + b"\n")
            is_full = os.fstat(handle).st_size > LARGEST
        finally:
            os.close(handle)
        if is_full:
            os.replace(path, f"{path}.1")
    except OSError:
        pass


def is_old(home: str) -> bool:
    """Tell whether the log was renamed before, so that its first entries may be lost."""
    return os.path.exists(os.path.join(home, f"{NAME}.1"))


def entries(home: str) -> list[dict[str, object]]:
    """Return the entries, the earliest first; malformed lines are left out."""
    found = []
    for name in (f"{NAME}.1", NAME):
        try:
            with open(os.path.join(home, name), encoding="utf-8", errors="replace") as file:
                lines = file.readlines()
        except OSError:
            continue
        for line in lines:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                found.append(entry)
    return found
