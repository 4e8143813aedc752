"""Operations on sessions: list, read, summarize them."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minutebook.ask.memories import Hit
from minutebook.ask.operation import check_filled, check_page, check_range, operation
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError, NotFound
from minutebook.record.listed import SessionTurns
from minutebook.record.records import Category, Summary, Turn
from minutebook.record.rights.redaction import redacted_for
from minutebook.record.writing.turns import Session

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.memory.search.sessions import JournalHit


@dataclass(frozen=True, slots=True)
class TitledSession:
    """A session, and the title of its summary if it has one."""

    session: Session
    title: str | None


@dataclass(frozen=True, slots=True)
class TitledSessions:
    """A page of the sessions, the latest first, and the number of all."""

    sessions: list[TitledSession]
    total: int


@operation("journal")
def sessions(app: "App", caller: Caller, limit: int, offset: int = 0) -> TitledSessions:
    """List sessions, the one with the latest turn first."""
    check_range("limit", limit, 1000)
    page = app.sessions.overview(caller, limit, offset)
    titled = []
    for each in page.sessions:
        summary = app.summaries.summary_of(each)
        titled.append(TitledSession(each, None if summary is None else summary.title))
    return TitledSessions(titled, page.total)


@operation("journal")
def session_names(app: "App", caller: Caller, start: str) -> list[str]:
    """Return the name `start` if a session has it, else the names of sessions that begin with it."""
    if app.sessions.all(caller, start):
        return [start]
    found = app.sessions.overview(caller, sys.maxsize, 0).sessions
    return list(dict.fromkeys(each.name for each in found if each.name.startswith(start)))


@dataclass(frozen=True, slots=True)
class WholeSession:
    """All turns of a session, and its summaries."""

    summaries: list[Summary]
    turns: list[Turn]


@operation("journal")
def session(app: "App", caller: Caller, name: str) -> WholeSession:
    """Read all of a session. Raises NotFound if the caller sees none of that name."""
    found = app.sessions.all(caller, name)
    if not found:
        raise NotFound("session", name)
    turns = app.sessions.page(caller, name, sys.maxsize, 0).turns
    summaries = [
        summary for each in found if (summary := app.summaries.summary_of(each)) is not None
    ]
    return WholeSession(summaries, turns)


@dataclass(frozen=True, slots=True)
class Summarized:
    """The summaries that were made, and the errors of those that failed, by the session's name."""

    done: list[Summary]
    failed: Mapping[str, MinutebookError]


@operation("journal", writes=True)
def summarize(app: "App", caller: Caller, name: str | None = None) -> Summarized:
    """Summarize a session; without a name each session that has new turns."""
    if name is not None:
        return Summarized(app.summaries.summarize(caller, name), {})
    batch = app.summaries.summarize_all(caller)
    failed = {each.session.name: redacted_for(caller, each.error) for each in batch.failed}
    return Summarized(batch.done, failed)


@operation("journal", writes=True)
def add_turn(
    app: "App", caller: Caller, session: str, prompt: str, thought: str, response: str
) -> Turn:
    """Append a turn to a session."""
    return app.sessions.add(caller, session, prompt, thought, response)


@operation("journal")
def turns(app: "App", caller: Caller, session: str, limit: int, offset: int) -> SessionTurns:
    """Read a page of a session's turns, the oldest first."""
    check_page(limit, offset)
    return app.sessions.page(caller, session, limit, offset)


@operation("journal")
def search_turns(
    app: "App", caller: Caller, query: str, limit: int, session: str | None = None
) -> list[Hit]:
    """Find turns by meaning and by words; with `session` those of that session only."""
    check_filled(query=query)
    check_range("limit", limit, 100)
    found = app.journal_search.turns(caller, query, limit, session)
    return _hits(app, caller, "search_turns", query, found)


@operation("journal")
def summaries(
    app: "App", caller: Caller, limit: int, offset: int, category: Category | None = None
) -> list[Summary]:
    """List the summaries, the newest first."""
    check_page(limit, offset)
    return app.summaries.page(caller, limit, offset, category).summaries


@operation("journal")
def search_summaries(
    app: "App", caller: Caller, query: str, limit: int, category: Category | None = None
) -> list[Hit]:
    """Find summaries by meaning and by words."""
    check_filled(query=query)
    check_range("limit", limit, 100)
    found = app.journal_search.summaries(caller, query, limit, category)
    return _hits(app, caller, "search_summaries", query, found)


def _hits(
    app: "App", caller: Caller, act: str, query: str, found: "Sequence[JournalHit[Any]]"
) -> list[Hit]:
    """Return found records as hits, and note the answer for the features that listen."""
    app.note_answer(caller, act, query, ((each.record, each.score) for each in found))
    return [Hit(each.record, each.record.text, each.relevance, each.score) for each in found]


OPERATIONS = (
    *(sessions, session_names, session, summarize, add_turn),
    *(turns, search_turns, summaries, search_summaries),
)
