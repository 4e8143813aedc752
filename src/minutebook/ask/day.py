"""The report of a day: each feature's part of it, by topic."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from minutebook.ask.memories import in_folder
from minutebook.ask.operation import operation
from minutebook.feature import entries_of
from minutebook.record.caller import Caller, FolderScope, without_folder_scope
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.record.filters import MemoryQuery
from minutebook.record.policy import may_read_metrics
from minutebook.record.reason import Reason, counted
from minutebook.record.records import Memory, Turn
from minutebook.record.writing.turns import Session

if TYPE_CHECKING:
    from minutebook.app import App

MOST = 200
"""Memories, and sessions, that are listed: the latest."""

MOST_MOVED = 10
"""Memories of no project, the latest, in the command that moves them."""


@operation("knowledge")
def day(
    app: "App",
    caller: Caller,
    since: datetime,
    until: datetime,
    folder: FolderScope | None = None,
) -> list[DayPart]:
    """Return the report of the time from one instant on and before another, asked for in a folder."""
    return report(app, in_folder(caller, folder), DaySpan(since, until))


def report(app: "App", caller: Caller, span: DaySpan) -> list[DayPart]:
    """Return a part for each topic that somebody tells of, in order, of all projects that the caller may see.

    Where nothing was learned it says what to do, and in a project's folder how to move there the memories of no project.
    """
    here = None if caller.folder_scope is None else caller.folder_scope.repository
    caller = without_folder_scope(caller)
    found = [*_memories(app, caller, span, here), *_sessions(app, caller, span)]
    for tell in entries_of("today"):
        found += tell(app, caller, span)
    found += _failing_jobs(app, caller)
    learned, *others = (
        _joined(topic, [part for part in found if part.topic is topic]) for topic in DayTopic
    )
    if not any(p.lines for p in found if p.topic in (DayTopic.LEARNED, DayTopic.SESSIONS)):
        learned = replace(learned, remedy=_how_to_begin(app, caller))
    return [learned, *(each for each in others if any(each.topic is p.topic for p in found))]


def _joined(topic: DayTopic, parts: Sequence[DayPart]) -> DayPart:
    lines = [line for part in parts for line in part.lines]
    lines.sort(key=lambda each: (each.at is None, -each.at.timestamp() if each.at else 0))
    counts = [count for part in parts for count in part.counts]
    remedy = next((each.remedy for each in parts if each.remedy), "")
    return DayPart(topic, counts, lines, remedy)


def _memories(app: "App", caller: Caller, span: DaySpan, here: str | None) -> Iterator[DayPart]:
    page = app.memories.page(caller, MOST, 0, MemoryQuery(since=span.since, until=span.until))
    if page.total:
        counts = [counted("{count:,} memory", "{count:,} memories", page.total)]
        lines = [_of_memory(each) for each in page.memories]
        free = [e.id for e in page.memories if e.repository is None and e.scope != "system"]
        yield DayPart(DayTopic.LEARNED, counts, lines, _how_to_move(free, here))


def _how_to_move(ids: Sequence[str], repository: str | None) -> str:
    """Return the command that moves memories of no project to a repository; "" if there is nothing to move."""
    if repository is None or not ids:
        return ""
    said = "Some belong to no project; to move them here: `minutebook edit {ids} --to {repository}`"
    return Reason(said, ids=" ".join(ids[:MOST_MOVED]), repository=repository)


def _sessions(app: "App", caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    if found := app.sessions.within(caller, span):
        counts = [counted("{count:,} session", "{count:,} sessions", len(found))]
        lines = [_of_session(app, caller, each) for each in found[:MOST]]
        yield DayPart(DayTopic.SESSIONS, counts, lines)


def _failing_jobs(app: "App", caller: Caller) -> Iterator[DayPart]:
    """Yield the jobs that fail by now, to callers that answer for the whole store."""
    failing = app.job_runs.failing() if may_read_metrics(caller) else []
    if failing:
        counts = [counted("{count:,} failing job", "{count:,} failing jobs", len(failing))]
        lines = [DayLine(Reason("The job “{job}” fails", job=each.job)) for each in failing]
        remedy = Reason("`minutebook doctor` says why.")
        yield DayPart(DayTopic.WAITS, counts, lines, remedy)


def _of_memory(memory: Memory) -> DayLine:
    return DayLine(
        memory.title or memory.content,
        memory.ingestion_time,
        f"/memories/{quote(memory.id, safe='')}",
        memory.repository or "",
        "" if memory.origin is None else memory.origin.client,
    )


def _of_session(app: "App", caller: Caller, session: Session) -> DayLine:
    summary = app.summaries.summary_of(session)
    (last,) = app.sessions.turns(caller, session).find(Turn, order=["-at"], limit=1) or (None,)
    begun = "" if last is None else last.prompt or last.response
    return DayLine(
        begun if summary is None else summary.title,
        session.last,
        "/session?" + urlencode({"name": session.name}),
        session.repository or "",
        "" if last is None or last.origin is None else last.origin.client,
    )


def _how_to_begin(app: "App", caller: Caller) -> Reason:
    page = app.memories.page(caller, 1, 0)
    if not page.memories:
        return Reason("`minutebook setup` connects your clients.")
    kept = page.memories[0].ingestion_time.astimezone()
    return Reason("The latest memory is of {day}.", day=f"{kept:%Y-%m-%d}")


OPERATIONS = (day,)
