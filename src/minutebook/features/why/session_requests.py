"""The requests in sessions that led to commits."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from minutebook.features.code.references import references_in
from minutebook.memory.access.visibility import Records
from minutebook.record.caller import Caller
from minutebook.record.records import Turn

if TYPE_CHECKING:
    import pygit2

CITING, NAMING, AT_ONCE = timedelta(days=14), timedelta(hours=8), timedelta(minutes=20)
"""The longest time before a commit at which a turn may have asked for it: if it cites its code, only names it, or does neither."""

_START, _MOST_SECONDS = datetime(1970, 1, 1, tzinfo=UTC), 250_000_000_000

SLACK = timedelta(minutes=1)
"""A turn up to this long after a commit may have asked for it, as their clocks may differ."""


_RESULTS = re.compile(r"^→ .*?(?=^\[[\w.-]+\] |\Z)", re.MULTILINE | re.DOTALL)
_COMMITTING = re.compile(
    r"^\[[\w.-]+\] .*\bgit\b.*\b(?:commit|cherry-pick|revert|merge|am)\b", re.MULTILINE
)
_NO_WORD = re.compile(r"\W+")
_LEAST_LETTERS = 6
"""A line with fewer letters and digits may be any line."""


@dataclass(frozen=True, slots=True)
class WrittenCode:
    """The code that a commit wrote: the names of its files and definitions, and the lines that it `added`.

    `is_own`: the person of this machine is its author; of other commits there are no lines.
    """

    sha: str
    at: datetime
    names: tuple[str, ...]
    added: tuple[str, ...] = ()
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """The turn of a session that asked for a commit, with its prompt; `is_certain` if its own tools wrote the commit or its lines."""

    session: str
    turn: str
    at: datetime
    prompt: str
    is_certain: bool = False


def requests_of(
    records: Records, caller: Caller, written: Sequence[WrittenCode]
) -> list[Request | None]:
    """Return for each commit, the latest first, the request that led to it, None if it is unknown.

    It is the turn that wrote the commit. Else it is a guess: the last turn that names its code, else the last turn just
    before it if it is this person's, else the last turn since the commit before that cites its code.
    """
    seen = records.seen_by(caller)

    def turns(since: datetime, until: datetime) -> list[Turn]:
        span = seen.where(since=since, until=until + SLACK)
        found = (each for view in span for each in view.find(Turn))
        return sorted(found, key=lambda each: each.at)

    found: list[Request | None] = []
    for number, commit in enumerate(written, 1):
        recent = turns(commit.at - NAMING, commit.at)
        if wrote := [each for each in recent if _wrote(each.thought, commit)]:
            found.append(_request(wrote[-1], is_certain=True))
            continue
        likely = [each for each in recent if any(name in each.text for name in commit.names)]
        if not likely and commit.is_own:
            likely = [each for each in recent if each.at >= commit.at - AT_ONCE]
        if not likely:
            previous = [older.at for older in written[number : number + 1]]
            since = max([commit.at - CITING, *previous])
            likely = [each for each in turns(since, commit.at) if _cites(each.text, commit.names)]
        found.append(_request(likely[-1]) if likely else None)
    return found


def _wrote(thought: str, commit: WrittenCode) -> bool:
    """Tell whether the tools of a turn made a commit, as Git's answer shows, or wrote half of the lines that it added.

    `thought` is that of the turn: the uses of its tools and their results.
    """
    made = rf"^(?:→ )?\[[^\]\n]+ {commit.sha[:7]}[0-9a-f]*\] "
    if _COMMITTING.search(thought) and re.search(made, thought, re.MULTILINE):
        return True
    written = _NO_WORD.sub("", _RESULTS.sub("", thought)) if commit.added else ""
    letters = (_NO_WORD.sub("", each) for each in commit.added)
    lines = [each for each in letters if len(each) >= _LEAST_LETTERS]
    return bool(lines) and 2 * sum(each in written for each in lines) >= len(lines)


def _cites(text: str, names: Sequence[str]) -> bool:
    """Tell whether a text cites a file or a symbol with one of these names."""
    if not any(name in text for name in names):
        return False
    cited = (each.symbol[-1:] or (each.path or "").split("/")[-1:] for each in references_in(text))
    return any(name in names for each in cited for name in each)


def _request(turn: Turn, *, is_certain: bool = False) -> Request:
    return Request(turn.session, turn.id, turn.at, turn.prompt, is_certain)


def instant_of(commit: "pygit2.Commit") -> datetime:
    """Return the instant at which a commit was made, in the years that a date can have."""
    return _START + timedelta(seconds=min(max(0, commit.commit_time), _MOST_SECONDS))
