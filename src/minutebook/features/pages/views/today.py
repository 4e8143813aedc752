"""The page *Today*, the first one."""

from datetime import datetime, timedelta

from minutebook.ask.day import report
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.record.caller import without_folder_scope
from minutebook.record.day import DaySpan, DayTopic
from minutebook.record.errors import InvalidInput

SHOWN = 40
"""Events of a topic that are shown."""

HEADINGS = {
    DayTopic.WAITS: later("Waits for you"),
    DayTopic.LEARNED: later("Learned"),
    DayTopic.TOLD: later("Told to agents"),
    DayTopic.SESSIONS: later("Sessions"),
    DayTopic.ACTS: later("Done last"),
}
"""The topics in the order of the page."""

EMPTY = {
    DayTopic.LEARNED: later("Nothing was kept on this day."),
    DayTopic.TOLD: later("No agent asked, and none was told anything."),
}


def show(visit: Visit) -> Page:
    """Show the report of a day of this machine's calendar: `date`, or today."""
    today = visit.app.clock().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    begin = _day(visit.query.get("date", ""), today)
    span = DaySpan(begin, begin + _DAY)
    found = {each.topic: each for each in report(visit.app, visit.caller, span)}
    page = visit.app.memories.page(without_folder_scope(visit.caller), 1, 0)
    is_empty = not page.total and not visit.app.sessions.all(without_folder_scope(visit.caller))
    facts = {
        "day": begin,
        "is_empty": is_empty,
        "begin": parts("find.empty", visit) if is_empty else [],
        "before": f"/today?date={begin - _DAY:%Y-%m-%d}",
        "after": f"/today?date={begin + _DAY:%Y-%m-%d}" if begin < today else "",
        "sections": [
            (found[topic], parts(f"today.{topic}", visit, span))
            for topic in HEADINGS
            # The topic WAITS is about now, not about another day.
            if topic in found and (topic is not DayTopic.WAITS or begin == today)
        ],
        "shown": SHOWN,
        "headings": HEADINGS,
        "empty": EMPTY,
    }
    return Page("today.html", facts)


_DAY, _FIRST_YEAR = timedelta(days=1), 1970


def _day(given: str, today: datetime) -> datetime:
    """Return the beginning of the day in an address, `today` if it names none. Raises InvalidInput for an invalid day."""
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
