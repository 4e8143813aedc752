"""The page *Today*, the first one."""

from datetime import datetime, timedelta

from minutebook.domain.day import DaySpan, grouped
from minutebook.domain.errors import InvalidInput
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.operations.day import report

SHOWN = 40
"""Events of a topic that are shown."""

HEADINGS = {
    "learned": later("Learned"),
    "told": later("Told to agents"),
    "waits": later("Waits for you"),
    "acts": later("Done last"),
}
EMPTY = {
    "learned": later("Nothing was kept on this day."),
    "told": later("No agent asked, and none was told anything."),
    "waits": later("Nothing waits."),
    "acts": later("Nothing was done."),
}


def show(visit: Visit) -> Page:
    """Show the report of a day of this machine's calendar: `date`, or today."""
    today = visit.app.clock().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    begin = _day(visit.query.get("date", ""), today)
    found = report(visit.app, visit.caller, DaySpan(begin, begin + _DAY))
    facts = {
        "day": f"{begin:%Y-%m-%d}",
        "is_today": begin == today,
        "before": f"/today?date={begin - _DAY:%Y-%m-%d}",
        "after": f"/today?date={begin + _DAY:%Y-%m-%d}" if begin < today else "",
        "parts": found,
        "shown": SHOWN,
        "headings": HEADINGS,
        "empty": EMPTY,
        "grouped": grouped,
    }
    return Page("today.html", facts)


_DAY, _FIRST_YEAR = timedelta(days=1), 1970


def _day(given: str, today: datetime) -> datetime:
    """Return the beginning of the day that an address names. Raises InvalidInput if it names none."""
    if not given:
        return today
    remedy = "must be a day that has begun, such as 2026-01-31 (got {given!r})"
    try:
        begin = datetime.strptime(given, "%Y-%m-%d").astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput("date", remedy, given=given[:50]) from error
    if not begin.year >= _FIRST_YEAR or begin > today:
        raise InvalidInput("date", remedy, given=given[:50])
    return begin


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/today"): ("today", show)}
