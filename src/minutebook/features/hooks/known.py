"""The notice and the records of a session so far, and the folders without hooks."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from minutebook.features.hooks import log
from minutebook.features.hooks.events import SHOWS

NOTICE = "Minutebook keeps this session: `minutebook ui`"
"""The line for a person in the first sessions of a client."""

_FIRST = 3
"""Sessions of a client in which it is said."""

FORGETS = frozenset({"compact", "clear"})
"""Sources of a session's start after which it has forgotten what it was told."""


class Known:
    """The records that a session was told already, in time to be read, by the log of hooks.

    What it was told before it was compacted or cleared, it has forgotten. `began` is when its memory begins, if that is known.
    """

    def __init__(self, entries: Sequence[Mapping[str, Any]], session: str) -> None:
        self._entries = entries
        self._session = session
        own: list[Mapping[str, Any]] = []
        for entry in entries:
            if entry.get("session") == session:
                if entry.get("source") in FORGETS:
                    own.clear()
                own.append(entry)
        lists = [ids for entry in own if isinstance(ids := entry.get("ids"), list)]
        self.ids = {str(id) for ids in lists for id in ids}
        self.began = next(filter(None, map(_instant, own)), None)
        self.is_briefed = any(entry.get("is_briefing") is True for entry in own)

    def sessions_in(
        self, folder: Path, repository_of: Callable[[str], str | None]
    ) -> frozenset[str]:
        """Return the names of the sessions, other than this, that were kept in a folder or its project."""
        here = str(folder)
        project = repository_of(here)
        return frozenset(
            # Some clients name the session in its transcript in another way than in events.
            str(entry.get("kept") or entry.get("session", ""))
            for entry in self._entries
            if entry.get("outcome") == "captured"
            and entry.get("session") != self._session
            and (
                (there := str(entry.get("folder"))) == here
                or (project is not None and repository_of(there) == project)
            )
        )


def _instant(entry: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(entry.get("at")))
    except ValueError:
        return None


def is_new_here(home: str, client: str, session: str) -> bool:
    """Tell whether the person is still to be told that sessions of a client are kept."""
    if client not in SHOWS or log.is_old(home):
        return False
    sessions = {
        entry.get("session")
        for entry in log.entries(home)
        if entry.get("client") == client and entry.get("is_notice") is True
    }
    return len(sessions) < _FIRST and session not in sessions


def is_ignored(folder: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a folder, or one that it is in, is one of those that hooks leave alone."""
    paths = [str(each) for each in (folder, *folder.parents)]
    named = [str(Path(pattern).expanduser()) for pattern in patterns]
    return any(fnmatch(path, pattern) for pattern in named for path in paths)
