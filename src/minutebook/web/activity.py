"""Activity: who did what and what was refused, as the audit trail has it; and the proof of the trail."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Entry, Kind
from minutebook.web.find import day
from minutebook.web.pages import Page, View, Visit

SHOWN = 50
"""Entries that are shown at first, and that "more" adds."""

MOST = 1000
"""Entries that are shown at once at most."""

FIELDS = ("actor", "client", "act", "subject", "outcome", "since")
"""The filters, as the address names them."""


def show(visit: Visit) -> Page:
    """Show the trail, newest first. Raises Forbidden to those who see a part of an organization."""
    given = {name: visit.query.get(name, "").strip() for name in FIELDS}
    wanted = {name: value for name, value in given.items() if value}
    since, limit = day("since", wanted.get("since", "")), _limit(visit.query)
    equal: Mapping[str, Any] = {name: value for name, value in wanted.items() if name != "since"}
    entries = visit.app.trail.entries(visit.caller, since=since, limit=limit + 1, **equal)
    more = None
    if len(entries) > limit and limit < MOST:
        more = f"/activity?{urlencode({**wanted, 'show': min(MOST, limit + SHOWN)})}"
    facts = {
        "fields": wanted,
        "entries": [(each, subject_address(each)) for each in entries[:limit]],
        "more": more,
    }
    return Page("activity.html", facts)


def prove(visit: Visit) -> Page:
    """Verify the trail of each organization, entry by entry. Raises Forbidden as `show` does."""
    return Page("proof.html", {"proofs": visit.app.trail.prove(visit.caller)})


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/activity"): ("activity", show),
    ("GET", "/activity/proof"): ("proof", prove),
}


def subject_address(entry: Entry) -> str:
    """Return the address of what an entry concerns, empty if it has no page; it may be gone."""
    match entry.subject_kind:
        case Kind.MEMORY if entry.subject != "*":
            path = "/memories"
        case Kind.DECISION | Kind.PROPOSAL:
            path = "/decisions"
        case _:
            return ""
    return f"{path}/{quote(entry.subject, safe='')}"


def _limit(query: Mapping[str, str]) -> int:
    given = query.get("show", str(SHOWN))
    if not given.isdecimal() or not 1 <= int(given[:9]) <= MOST:
        raise InvalidInput("show", f"must be a number from 1 to {MOST} (got {given[:50]!r})")
    return int(given)
