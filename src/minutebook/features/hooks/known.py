"""The facts that hooks know from their log and settings: what a session was told, the notice, folders without hooks."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from minutebook.features.hooks import log
from minutebook.features.hooks.events import SHOW_MESSAGES

NOTICE = "Minutebook keeps this session: `minutebook ui`"
"""The line for the person in the first sessions of a client."""

_FIRST = 3
"""Sessions of a client with the notice."""

FORGETS = frozenset({"compact", "clear"})
"""Sources of a session's start before which the agent has forgotten all."""


class Known:
    """The records that a session was told, by the log of hooks, since it was last compacted or cleared.

    `ids` are theirs; `began` is the time since which it remembers, None if unknown; `is_briefed` if it got its first brief.
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
        """Return the names of the other sessions that were captured in a folder or its project."""
        here = str(folder)
        project = repository_of(here)
        return frozenset(
            # Some clients have another name of the session in its transcript than in events.
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


def needs_notice(home: str, client: str, session: str) -> bool:
    """Tell whether the person must still be told that sessions of a client are kept."""
    if client not in SHOW_MESSAGES or log.is_old(home):
        return False
    sessions = {
        entry.get("session")
        for entry in log.entries(home)
        if entry.get("client") == client and entry.get("is_notice") is True
    }
    return len(sessions) < _FIRST and session not in sessions


def is_ignored(folder: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a folder, or a parent of it, fits one of the patterns."""
    paths = [str(each) for each in (folder, *folder.parents)]
    named = [str(Path(pattern).expanduser()) for pattern in patterns]
    return any(fnmatch(path, pattern) for pattern in named for path in paths)
