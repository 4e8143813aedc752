"""The instants at which files of clients were changed for Minutebook, in the data directory."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from minutebook.disk.atomic_file import replace_file
from minutebook.domain.instants import rfc3339

_NAME = "clients.json"


def entered(home: Path) -> Mapping[str, str]:
    """Return when each file was first changed, by its path; of an unreadable list nothing is known."""
    try:
        noted = json.loads((home / _NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def note(home: Path, paths: Iterable[Path], now: datetime) -> None:
    """Note that files were changed; earlier notes of them stay. Raises OSError."""
    known = {str(path): rfc3339(now) for path in paths} | dict(entered(home))
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(home / _NAME, json.dumps(known, indent=1).encode())
