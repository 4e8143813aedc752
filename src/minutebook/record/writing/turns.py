"""Sessions, the ids and instants of their turns and summaries, and the files that their tools changed."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from minutebook.record.errors import InvalidInput
from minutebook.record.filters import Filter
from minutebook.record.instants import rfc3339
from minutebook.record.records import Turn

LONGEST_SESSION = 200
"""Characters of a session's name."""

RECAP = "[recap]"
"""Begins the last line of a turn's thought if that is a recap of the session so far by the client's own model."""

_LONGEST_NAME_IN_ID = 180
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The turns of one conversation: its name, scope, length and time.

    The same name in two repositories, or of two users, is two sessions.
    """

    organization: str
    name: str
    repository: str | None
    user: str | None
    turn_count: int
    first: datetime
    last: datetime

    @property
    def scope(self) -> dict[str, object]:
        """The fields that its turns share, by name."""
        return {"session": self.name, "repository": self.repository, "user": self.user}

    @property
    def summary_id(self) -> str:
        """The id of the session's summary: its name, or a digest if it has a repository or user, or a very long name."""
        return summary_id(self.name, self.repository, self.user)


def turns_of(organization: str, session: str, repository: str | None, user: str | None) -> Filter:
    """Return the filter for the turns of one session; None for repository or user selects turns that have none."""
    own = {"session": session, "repository": repository, "user": user}
    return Filter(organization=organization, equal=own)


def check_session(name: str) -> None:
    """Raise InvalidInput if a session's name is empty, too long, or holds control characters.

    Half characters (lone surrogates) are refused too.
    """
    if not 0 < len(name) <= LONGEST_SESSION:
        raise InvalidInput("sessionId", "must have 1 to {most} characters", most=LONGEST_SESSION)
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
        raise InvalidInput("sessionId", "must hold no control characters and no half characters")


def turn_id(at: datetime) -> str:
    """Make a turn's id: `mem_` and the instant, in UTC to the microsecond."""
    return f"mem_{rfc3339(at)}"


def instant_after(now: datetime, last: Turn | None) -> datetime:
    """Return the instant of a session's next turn: now, or just after its last if that is later."""
    return now if last is None or last.at < now else last.at + _TICK


def next_instant(at: datetime) -> datetime:
    """Return the next instant that an id can tell from this one."""
    return at + _TICK


def summary_id(session: str, repository: str | None, user: str | None) -> str:
    """Return the id of a session's summary; see `Session.summary_id`."""
    if repository is None and user is None and len(session.encode()) <= _LONGEST_NAME_IN_ID:
        return f"summary_{session}"
    identity = json.dumps([session, repository, user]).encode()
    return f"summary~{hashlib.sha256(identity).hexdigest()[:40]}"


_FOLDER = re.compile(r"^\[.*\bfolder ([^;\]]+)", re.MULTILINE)
_EDIT = re.compile(
    r"^\[(?:(?:multi|notebook)?edit\w*|write\w*|create\w*|apply_patch|str_replace\w*|replace)\][^→]*",
    re.IGNORECASE | re.MULTILINE,
)
_PATCHED = re.compile(
    r"\*\*\* (?:Update|Add|Delete) File: ([^\\\n]+)|\"\w*path\": *\"([^\"]+)\"",
    re.IGNORECASE,
)


class EditedFiles:
    """Collects the paths of files that tools changed, turn by turn, relative to the folder of the session.

    `guess` returns the files of a tool's use that names none as a path.
    """

    def __init__(self, guess: Callable[[str], Iterable[str]] = lambda _: ()) -> None:
        self._guess = guess
        self._paths: dict[str, None] = {}
        self._folder = ""

    def read(self, thought: str) -> None:
        """Add the files that the uses of tools in a thought changed."""
        if not self._folder and (folder := _FOLDER.search(thought)):
            self._folder = f"{folder[1]}/"
        for use in _EDIT.findall(thought):
            named = [patched or path for patched, path in _PATCHED.findall(use)]
            for path in named or self._guess(use):
                own = path.removeprefix(self._folder)
                self._paths.pop(own, None)
                self._paths[own] = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, the last changed first."""
        return tuple(reversed(self._paths))
