"""Parts of pages about the questions of agents and their hits: of a day, of a session, of a memory."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.domain.caller import Caller, anywhere
from minutebook.domain.day import DaySpan
from minutebook.domain.records import Memory
from minutebook.features.pages.views import sessions
from minutebook.features.recall_log.recall_log import RecallLog, ShownRecall

OF_A_DAY, OF_A_SESSION, OF_A_MEMORY = 60, 60, 10
"""Questions that a part shows, the latest."""


def told_on(app: App, caller: Caller, span: DaySpan) -> Mapping[str, Any] | None:
    """Return the questions of a day by title and address of their session, else by client; None if there were none."""
    caller = anywhere(caller)
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


def told_in(app: App, caller: Caller, name: str) -> Mapping[str, Any] | None:
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
