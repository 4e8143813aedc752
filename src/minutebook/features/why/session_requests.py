"""The requests of sessions before commits."""

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
"""How long before a commit a turn that cites its code may have asked for it, one that names it in passing, and one that does neither."""

_START, _MOST_SECONDS = datetime(1970, 1, 1, tzinfo=UTC), 250_000_000_000

SLACK = timedelta(minutes=1)
"""How long after a commit, by its clock, a turn may still have asked for it."""


_RESULTS = re.compile(r"^→ .*?(?=^\[[\w.-]+\] |\Z)", re.MULTILINE | re.DOTALL)
_COMMITTING = re.compile(
    r"^\[[\w.-]+\] .*\bgit\b.*\b(?:commit|cherry-pick|revert|merge|am)\b", re.MULTILINE
)
_NO_WORD = re.compile(r"\W+")
_TELLING_LINE = 6
"""Letters and digits that a line has at least for it to be told from others."""


@dataclass(frozen=True, slots=True)
class WrittenCode:
    """A commit as turns tell of it: its id and instant, names of its files and definitions.

    `added` are lines of code, if the person of this machine is its author; of others there are none.
    """

    sha: str
    at: datetime
    names: tuple[str, ...]
    added: tuple[str, ...] = ()
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A turn of a session before a commit, and its prompt; `is_certain` if the turn's own tools wrote the commit or its lines."""

    session: str
    turn: str
    at: datetime
    prompt: str
    is_certain: bool = False


def requests_of(
    records: Records, caller: Caller, written: Sequence[WrittenCode]
) -> list[Request | None]:
    """Return for each commit, the latest first, the request that led to it, or perhaps did.

    It is the turn that wrote it. Else it is a guess: the last turn that names its code, else the last just before a commit of
    this machine's person, else the last since the commit before that cites its code.
    """
    seen = records.seen_by(caller)

    def turns(since: datetime, until: datetime) -> list[Turn]:
        span = seen.where(since=since, until=until + SLACK)
        return sorted((each for view in span for each in view.find(Turn)), key=_at)

    found: list[Request | None] = []
    for number, commit in enumerate(written, 1):
        lately = turns(commit.at - NAMING, commit.at)
        if wrote := [each for each in lately if _wrote(each.thought, commit)]:
            found.append(_request(wrote[-1], is_certain=True))
            continue
        led = [each for each in lately if any(name in each.text for name in commit.names)]
        if commit.is_own:
            led = led or [each for each in lately if each.at >= commit.at - AT_ONCE]
        if not led:
            before = [older.at for older in written[number : number + 1]]
            since = max([commit.at - CITING, *before])
            led = [each for each in turns(since, commit.at) if _cites(each.text, commit.names)]
        found.append(None if not led else _request(led[-1]))
    return found


def _wrote(thought: str, commit: WrittenCode) -> bool:
    """Tell whether tools made a commit, which Git then named, or wrote half of the lines that the person of this machine committed."""
    made = rf"^(?:→ )?\[[^\]\n]+ {commit.sha[:7]}[0-9a-f]*\] "
    if _COMMITTING.search(thought) and re.search(made, thought, re.MULTILINE):
        return True
    asked = _NO_WORD.sub("", _RESULTS.sub("", thought)) if commit.added else ""
    lines = [said for each in commit.added if len(said := _NO_WORD.sub("", each)) >= _TELLING_LINE]
    return bool(lines) and 2 * sum(each in asked for each in lines) >= len(lines)


def _cites(text: str, names: Sequence[str]) -> bool:
    if not any(name in text for name in names):
        return False
    cited = (each.symbol[-1:] or (each.path or "").split("/")[-1:] for each in references_in(text))
    return any(name in names for each in cited for name in each)


def _at(turn: Turn) -> datetime:
    return turn.at


def _request(turn: Turn, *, is_certain: bool = False) -> Request:
    return Request(turn.session, turn.id, turn.at, turn.prompt, is_certain)


def instant_of(commit: "pygit2.Commit") -> datetime:
    """Return the instant at which a commit was made, in the years that a date can have."""
    return _START + timedelta(seconds=min(max(0, commit.commit_time), _MOST_SECONDS))
