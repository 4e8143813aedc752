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
"""Memories that are listed, and sessions: the latest."""

MOST_MOVED = 10
"""Ids in the command that moves memories of no project: the latest."""


@operation("knowledge")
def day(
    app: "App", caller: Caller, since: datetime, until: datetime, folder: FolderScope | None = None
) -> list[DayPart]:
    """Return the report of the time from `since` on and before `until`, asked for in a folder."""
    return report(app, in_folder(caller, folder), DaySpan(since, until))


def report(app: "App", caller: Caller, span: DaySpan) -> list[DayPart]:
    """Return the parts of a day's report in the order of DayTopic, of all projects that the caller may see.

    LEARNED is always among them: if nothing was learned, it says how to begin; in a project's folder it has the
    command that moves the memories of no project there.
    """
    here = None if caller.folder_scope is None else caller.folder_scope.repository
    caller = without_folder_scope(caller)
    found = [*_memories(app, caller, span, here), *_sessions(app, caller, span)]
    for tell in entries_of("today"):
        found += tell(app, caller, span)
    found += _failing_jobs(app, caller)
    topics = {part.topic for part in found}
    learned, *others = (_part_on(topic, found) for topic in DayTopic)
    if not any(p.lines for p in found if p.topic in (DayTopic.LEARNED, DayTopic.SESSIONS)):
        learned = replace(learned, remedy=_how_to_begin(app, caller))
    return [learned, *(part for part in others if part.topic in topics)]


def _part_on(topic: DayTopic, found: Sequence[DayPart]) -> DayPart:
    """Join the parts on a topic: their counts, their lines, the latest first, and their first remedy."""
    parts = [part for part in found if part.topic is topic]
    lines = [line for part in parts for line in part.lines]
    lines.sort(key=lambda each: (each.at is None, -each.at.timestamp() if each.at else 0))
    counts = [count for part in parts for count in part.counts]
    remedy = next((each.remedy for each in parts if each.remedy), "")
    return DayPart(topic, counts, lines, remedy)


def _memories(app: "App", caller: Caller, span: DaySpan, here: str | None) -> Iterator[DayPart]:
    page = app.memories.page(caller, MOST, 0, MemoryQuery(since=span.since, until=span.until))
    if page.total:
        counts = [counted("{count:,} memory", "{count:,} memories", page.total)]
        lines = [_memory_line(each) for each in page.memories]
        homeless = [e.id for e in page.memories if e.repository is None and e.scope != "system"]
        yield DayPart(DayTopic.LEARNED, counts, lines, _how_to_move(homeless, here))


def _how_to_move(ids: Sequence[str], repository: str | None) -> str:
    """Return the command that moves memories of no project to a repository; "" if there is nothing to move."""
    if repository is None or not ids:
        return ""
    text = "Some belong to no project; to move them here: `minutebook edit {ids} --to {repository}`"
    return Reason(text, ids=" ".join(ids[:MOST_MOVED]), repository=repository)


def _sessions(app: "App", caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    if found := app.sessions.within(caller, span):
        counts = [counted("{count:,} session", "{count:,} sessions", len(found))]
        lines = [_session_line(app, caller, each) for each in found[:MOST]]
        yield DayPart(DayTopic.SESSIONS, counts, lines)


def _failing_jobs(app: "App", caller: Caller) -> Iterator[DayPart]:
    """Yield the jobs that failed at their last run, for callers that may read metrics."""
    failing = app.job_runs.failing() if may_read_metrics(caller) else []
    if failing:
        counts = [counted("{count:,} failing job", "{count:,} failing jobs", len(failing))]
        lines = [DayLine(Reason("The job “{job}” fails", job=each.job)) for each in failing]
        remedy = Reason("`minutebook doctor` says why.")
        yield DayPart(DayTopic.WAITS, counts, lines, remedy)


def _memory_line(memory: Memory) -> DayLine:
    return DayLine(
        memory.title or memory.content,
        memory.ingestion_time,
        f"/memories/{quote(memory.id, safe='')}",
        memory.repository or "",
        "" if memory.origin is None else memory.origin.client,
    )


def _session_line(app: "App", caller: Caller, session: Session) -> DayLine:
    summary = app.summaries.summary_of(session)
    (last,) = app.sessions.turns(caller, session).find(Turn, order=["-at"], limit=1) or (None,)
    latest_text = "" if last is None else last.prompt or last.response
    return DayLine(
        latest_text if summary is None else summary.title,
        session.last,
        "/session?" + urlencode({"name": session.name}),
        session.repository or "",
        "" if last is None or last.origin is None else last.origin.client,
    )


def _how_to_begin(app: "App", caller: Caller) -> Reason:
    """Return how to connect clients, or, if there are memories, the day of the latest."""
    page = app.memories.page(caller, 1, 0)
    if not page.memories:
        return Reason("`minutebook setup` connects your clients.")
    stored = page.memories[0].ingestion_time.astimezone()
    return Reason("The latest memory is of {day}.", day=f"{stored:%Y-%m-%d}")


OPERATIONS = (day,)
