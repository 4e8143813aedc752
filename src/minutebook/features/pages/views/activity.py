"""Activity: acts and refusals, as the audit trail has them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote, unquote, urlencode

from minutebook.app import App
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.features.pages.frame.records import address_of, page_of
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.frame.words import ON_THE_TRAIL, OUTCOMES, word
from minutebook.features.pages.views.find import day, shown
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Entry, Record

SHOWN = 50
"""Entries that are shown at first, and that the link "more" adds."""

MOST = 1000
"""The most entries that are shown at once."""

LONGEST_MARK = 2000
"""The most characters of a mark in the trails; a longer mark is left out."""

DAYS = {
    later("Today"): 0,
    later("Since yesterday"): 1,
    later("The last 7 days"): 7,
    later("The last 30 days"): 30,
}
"""The choices of the filter `since`, each with its days ago."""

FIELDS = ("actor", "client", "act", "subject", "outcome", "since")
"""The filters, by their names in the address."""


def show(visit: Visit) -> Page:
    """Show the trail, newest first. Raises Forbidden to callers that see a part of an organization."""
    wanted, limit = _given(visit.query), shown(visit.query, SHOWN, MOST)
    mark = mark_of(visit.app.trail.ends(visit.caller))
    conditions = conditions_of(visit.query)
    entries = visit.app.trail.entries(visit.caller, limit=limit + 1, **conditions)
    more = None
    if len(entries) > limit and limit < MOST:
        more = f"/activity?{urlencode({**wanted, 'show': min(MOST, limit + SHOWN)})}"
    facts = {
        "fields": wanted,
        "days": [
            (name, f"{visit.app.clock().astimezone() - timedelta(days=count):%Y-%m-%d}")
            for name, count in DAYS.items()
        ],
        "choices": {
            name: tuple(
                dict.fromkeys([*sorted(known, key=word), *filter(None, [wanted.get(name)])])
            )
            for name, known in (("act", ON_THE_TRAIL), ("outcome", OUTCOMES))
        },
        "entries": with_subjects(visit.app, visit.caller, entries[:limit]),
        "more": more,
        "links": parts("activity.links", visit),
        "live": f"/activity/live?{urlencode(wanted)}",
        "mark": mark,
    }
    return Page("activity.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/activity"): ("activity", show)}


def conditions_of(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the conditions on entries in an address. Raises InvalidInput for an invalid day."""
    given: dict[str, Any] = _given(query)
    return given | {"since": day("since", given.get("since", ""))}


def mark_of(ends: Mapping[str, int]) -> str:
    """Return the mark of the trails' ends, by which a viewer continues; "" if it would be too long."""
    mark = ",".join(f"{quote(name, safe='')}:{number}" for name, number in sorted(ends.items()))
    return mark if len(mark) <= LONGEST_MARK else ""


def ends_of(mark: str) -> dict[str, int]:
    """Return the trails' ends of a mark. Raises InvalidInput if it is malformed."""
    ends = {}
    for part in mark[: LONGEST_MARK + 1].split(",") if mark else ():
        name, _, number = part.partition(":")
        if not name or not number.isdecimal() or len(number) > 15:
            raise InvalidInput("after", "must be a mark of this page; reload it")
        ends[unquote(name)] = int(number)
    return ends


def with_subjects(
    app: App, caller: Caller, entries: Sequence[Entry]
) -> list[tuple[Entry, str, Record | None]]:
    """Return each entry with the address of its subject, and the subject or None if that is gone."""
    found = app.browsing.subjects(caller, entries)
    records = [found.get((each.organization, each.subject)) for each in entries]
    return [
        (
            entry,
            address_of(record) if record else page_of(entry.subject_kind, entry.subject),
            record,
        )
        for entry, record in zip(entries, records, strict=True)
    ]


def _given(query: Mapping[str, str]) -> dict[str, str]:
    """Return the filters that are set."""
    given = {name: query.get(name, "").strip() for name in FIELDS}
    return {name: value for name, value in given.items() if value}
