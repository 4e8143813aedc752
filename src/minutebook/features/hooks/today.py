"""The sessions of a day that were told something when they started, by this machine's log of hooks."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.domain.reason import counted
from minutebook.features.hooks import log
from minutebook.operations.operation import is_at_keyboard


def told_unasked(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the starts of sessions that got a brief; the recall log has those before prompts."""
    if not is_at_keyboard(caller):
        return
    starts = [
        (at, each)
        for each in log.entries(str(app.settings.home))
        if each.get("is_briefing") and each.get("outcome") == "answered"
        if (at := _instant(each)) is not None and span.holds(at)
    ]
    if starts:
        counts = [counted("{count:,} session briefed", "{count:,} sessions briefed", len(starts))]
        yield DayPart(DayTopic.TOLD, counts, [_line(at, each) for at, each in starts])


def _line(at: datetime, entry: Mapping[str, object]) -> DayLine:
    ids = entry.get("ids")
    count = len(ids) if isinstance(ids, list) else 0
    client = str(entry.get("client", ""))
    said = counted(
        "{client} was briefed on a new session: {count:,} record",
        "{client} was briefed on a new session: {count:,} records",
        count,
        client=client,
    )
    return DayLine(said, at)


def _instant(entry: Mapping[str, object]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(entry.get("at")))
    except ValueError:
        return None
