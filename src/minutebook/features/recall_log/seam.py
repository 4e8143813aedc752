"""The functions of this feature that the core and pages call: the questions of a day, a session and a memory."""

from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.recall_log.recall_log import RecallLog
from minutebook.features.recall_log.rows import ShownRecall
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.record.reason import Reason, counted
from minutebook.record.records import Memory

MOST = 500
"""The most entries that are counted: the latest."""

QUOTED = 60
"""The most characters that are shown of a question or of the name of its first hit."""


def answered(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the questions that were asked, each with its first hit."""
    recalls = app.get(RecallLog)
    found = recalls.entries(caller, span=span, limit=MOST)
    if recalls.mode == "off":
        off = Reason(
            "The recall log is off: `minutebook settings set recall_log records` turns it on."
        )
        yield DayPart(DayTopic.TOLD, remedy=off)
        return
    counts = [counted("{count:,} answer", "{count:,} answers", len(found))] if found else []
    remedy = "" if found else Reason("`minutebook doctor` says whether clients are connected.")
    if not recalls.is_whole():
        counts.append(Reason("not known: answers cannot be noted at present"))
        remedy = Reason("`minutebook doctor` says why.")
    yield DayPart(DayTopic.TOLD, counts, [_line(each) for each in found], remedy)


def _line(recall: ShownRecall) -> DayLine:
    """Return a question, if its text is kept, and its hits as a line of text; pages show them by a template."""
    from minutebook.features.pages.frame.records import address_of, name_of

    entry, got = recall.entry, [record for record, _ in recall.got]
    client = entry.actor if entry.client in ("", "minutebook") else entry.client
    asked = f"asked “{_shortened(entry.question)}”:" if entry.question else "was told"
    first = f"“{_shortened(name_of(got[0]))}”" if got else "nothing"
    more = f" and {len(got) - 1:,} more" if len(got) > 1 else ""
    return DayLine(f"{client} {asked} {first}{more}", entry.at, address_of(got[0]) if got else "")


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"


OF_A_DAY, OF_A_SESSION, OF_A_MEMORY = 60, 60, 10
"""The most questions that a page shows: the latest."""


def questions_of_day(app: App, caller: Caller, span: DaySpan) -> Mapping[str, Any] | None:
    """Return the questions of a day, grouped by the title and address of their session or else by client.

    None if there were none.
    """
    from minutebook.features.pages.views import sessions

    caller = without_folder_scope(caller)
    found = app.get(RecallLog).entries(caller, span=span, limit=OF_A_DAY)
    if not found:
        return None
    rows = {
        name: row
        for row in sessions.rows(app, caller, app.sessions.within(caller, span))
        for name in app.sessions.connections(caller, row.session.name)
    }
    groups: dict[tuple[str, str], list[ShownRecall]] = {}
    for each in found:
        entry, row = each.entry, rows.get(each.entry.session)
        title = entry.client or entry.actor if row is None else row.title
        path = "" if row is None else sessions.address(row.session.name)
        groups.setdefault((title, path), []).append(each)
    return {"sessions": groups}


def questions_of_session(app: App, caller: Caller, name: str) -> Mapping[str, Any] | None:
    """Return the questions of a session; None if there were none."""
    found = app.get(RecallLog).entries(
        caller, sessions=app.sessions.connections(caller, name), limit=OF_A_SESSION
    )
    return {"recalls": found} if found else None


def recalls_of(app: App, caller: Caller, memory: Memory) -> Mapping[str, Any]:
    """Return how often a memory was recalled, by whom, and by which questions."""
    recalls = app.get(RecallLog)
    return {
        "uses": recalls.uses(caller, memory),
        "recalls": recalls.entries(caller, record=memory, limit=OF_A_MEMORY),
        "is_logged": recalls.mode != "off",
    }
