"""The last calls of the clients' hooks: a line a call in the data directory, never their texts.

Standard library only, and little of it: the process of a hook writes it.
"""

import json
import os
import time

NAME = "hooks.log"

LARGEST = 256 * 1024
"""Bytes after which the log is put aside once; the one before it is given up."""


def append(home: str, **entry: object) -> None:
    """Add an entry with the present instant. A failed write is given up: a hook never fails."""
    path = os.path.join(home, NAME)
    line = json.dumps({"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry})
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # In one piece: hooks of several sessions may write at once.
            os.write(handle, line.encode() + b"\n")
            is_full = os.fstat(handle).st_size > LARGEST
        finally:
            os.close(handle)
        if is_full:
            os.replace(path, f"{path}.1")
    except OSError:
        pass


def is_old(home: str) -> bool:
    """Tell whether the log was put aside before: its first entries are gone, or soon will be."""
    return os.path.exists(os.path.join(home, f"{NAME}.1"))


def entries(home: str) -> list[dict[str, object]]:
    """Return the entries that are kept, the earliest first; lines that are none are left out."""
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
