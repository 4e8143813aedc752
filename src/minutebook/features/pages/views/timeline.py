"""Time: the facts known and those true on a day, and the changes between two."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from minutebook.domain.errors import InvalidInput
from minutebook.domain.reason import must_be_one_of
from minutebook.features.pages.frame.catalogue import Later, texts_beside
from minutebook.features.pages.frame.differences import Stretch, differences
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.services import PageServices
from minutebook.features.pages.timeline import Event, MemoryChange
from minutebook.features.pages.views.find import day, offset, shown

LISTED = 20
"""Memories on a page of the list."""

SHOWN = 50
"""Changes that are shown at first, and that "more" adds."""

MOST = 1000
"""Changes that are shown at once at most."""

KNOWN, TRUE = "known", "true"

_TEXTS = texts_beside(__file__)
SIGHTS: Mapping[str, Later] = _TEXTS["sights"]
STEPS: Mapping[str, Later] = _TEXTS["steps"]
EVENTS: Mapping[str, Later] = _TEXTS["events"]


@dataclass(frozen=True, slots=True)
class Day:
    """A day that was asked for, as it was typed, and the instant that stands for it: its end, or now."""

    text: str
    at: datetime

    @property
    def date(self) -> date:
        """The day itself; of an instant the day, in UTC, on which it lies."""
        return date.fromisoformat(self.text[:10])


def show(visit: Visit) -> Page | Goto:
    """Show the memories known, or those true, on a day."""
    query, now = visit.query, visit.app.clock()
    if "step" in query:
        return Goto(address(_stepped(query, now), _sight(query)))
    chosen, sight, at = _day(query, "on", now), _sight(query), offset(query)
    timeline, caller = visit.app.get(PageServices).timeline, visit.caller
    first = timeline.first(caller)
    # Of the other sight only how much there is: its first memory tells.
    known_page, held_page = ((LISTED, at), (1, 0)) if sight == KNOWN else ((1, 0), (LISTED, at))
    known, known_total = timeline.known_at(caller, chosen.at, *known_page)
    held, held_total = timeline.true_at(caller, chosen.at, *held_page)
    facts: dict[str, Any] = {
        "chosen": chosen,
        "sight": sight,
        "sights": SIGHTS,
        "totals": {KNOWN: known_total, TRUE: held_total},
        "known": known if sight == KNOWN else [],
        "held": held if sight == TRUE else [],
        "offset": at,
        "size": LISTED,
        "slider": _slider(first, chosen, now),
        "steps": [
            (_moved(chosen.date, int(days)), name)
            for days, name in STEPS.items()
            if _is_day(chosen.date, int(days))
        ],
        "address": address,
        "changes_address": changes_address,
        "today": now.date().isoformat(),
    }
    return Page("time.html", facts)


def changes(visit: Visit) -> Page:
    """Show the changes from the beginning of one day to the end of another.

    Raises InvalidInput if they are no days, or end before they begin.
    """
    query, now = visit.query, visit.app.clock()
    until = _day(query, "until", now)
    week = (until.date - timedelta(days=6)).isoformat()
    since_text = query.get("since", "").strip() or week
    since = day("since", since_text)
    assert since is not None
    if since >= until.at:
        raise InvalidInput("since", "must be earlier than until")
    limit = shown(query, SHOWN, MOST)
    found = visit.app.get(PageServices).timeline.changes(visit.caller, since, until.at)
    more = None
    if len(found.changes) > limit and limit < MOST:
        more = changes_address(since_text, until.text, min(MOST, limit + SHOWN))
    facts = {
        "since": since_text,
        "until": until.text,
        "changes": [(each, _edit(visit, each, since, until.at)) for each in found.changes[:limit]],
        "total": len(found.changes),
        "is_cut": found.is_cut,
        "more": more,
        "events": EVENTS,
        "counts": [
            (name, count)
            for event, name in EVENTS.items()
            if (count := sum(event in each.events for each in found.changes))
        ],
        "address": address,
    }
    return Page("changes.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/time"): ("time", show),
    ("GET", "/time/changes"): ("changes", changes),
}


def address(on: str, sight: str = KNOWN, first: int = 0) -> str:
    """Return the address of a day, seen one way, from a memory of its list on."""
    parts = {"on": on, "see": "" if sight == KNOWN else sight, "from": first or ""}
    return "/time?" + urlencode({name: value for name, value in parts.items() if value != ""})


def changes_address(since: str, until: str, show: int = SHOWN) -> str:
    """Return the address of the changes between two days."""
    more = {} if show == SHOWN else {"show": show}
    return "/time/changes?" + urlencode({"since": since, "until": until, **more})


def _day(query: Mapping[str, str], name: str, now: datetime) -> Day:
    """Read a day, today if none is named. Raises InvalidInput."""
    text = query.get(name, "").strip() or now.date().isoformat()
    at = day(name, text, ends=True)
    assert at is not None
    is_today = text == now.date().isoformat()
    return Day(text if len(text) <= len("2026-01-31") else at.isoformat(), now if is_today else at)


def _sight(query: Mapping[str, str]) -> str:
    given = query.get("see", "") or KNOWN
    if given not in SIGHTS:
        raise InvalidInput("see", must_be_one_of(SIGHTS, given))
    return given


def _stepped(query: Mapping[str, str], now: datetime) -> str:
    """Read where the slider stands: the days from the first one on."""
    first = day("first", query.get("first", "").strip()) or now
    given = query["step"]
    if not given.isdecimal() or len(given) > 6 or not _is_day(first.date(), int(given)):
        raise InvalidInput("step", "must be a number of days (got {given!r})", given=given[:50])
    return _moved(first.date(), int(given))


def _slider(first: datetime | None, chosen: Day, now: datetime) -> dict[str, Any] | None:
    """Return the slider from the first memory's day until today; None for less than two days."""
    if first is None or first.date() >= now.date():
        return None
    days = (now.date() - first.date()).days
    place = (chosen.date - first.date()).days
    return {"first": first.date().isoformat(), "days": days, "place": min(max(place, 0), days)}


def _moved(start: date, days: int) -> str:
    return (start + timedelta(days=days)).isoformat()


def _is_day(start: date, days: int) -> bool:
    """Tell whether a date so many days away can be written."""
    return 1 <= start.toordinal() + days < date.max.toordinal()


def _edit(
    visit: Visit, change: MemoryChange, since: datetime, until: datetime
) -> list[Stretch] | None:
    """Compare the text of a memory before and after, if it was edited."""
    if Event.EDITED not in change.events or change.memory is None:
        return None
    before, after = visit.app.get(PageServices).timeline.texts(change.memory, since, until)
    return differences(_whole(before.title, before.content), _whole(after.title, after.content))


def _whole(title: str | None, content: str) -> str:
    return content if title is None else f"{title}\n\n{content}"
