"""The page *Review*, as the feature registers it."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import MenuEntry, Pages
from minutebook.features.tidying.findings import WAITING
from minutebook.features.tidying.pages import review
from minutebook.features.tidying.review import Review
from minutebook.record.caller import Caller
from minutebook.record.day import DaySpan
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import Status

OF_TODAY = 3
"""Items that stand on the first page."""

LOOKED_AT = 100
"""Memories, those kept last, among which an examination looks for near-duplicates: 5 ms each."""


def waiting(app: App, caller: Caller, is_examined: bool) -> Mapping[str, Any]:  # noqa: FBT001 - as the page asks
    """Count the waiting records; near-duplicates only where the store is examined."""
    pairs, looked_at = app.similar.pairs(caller, LOOKED_AT) if is_examined else (None, 0)
    return {
        "unverified": app.overview.memories(caller, MemoryQuery(status=Status.UNVERIFIED)),
        "contradictions": len(app.get(Review).clashes(caller)),
        "finds_alike": not app.embedding.is_off,
        "alike": None if pairs is None else len(pairs),
        "looked_at": looked_at,
    }


def first_of_all(app: App, caller: Caller, _span: DaySpan) -> Mapping[str, Any] | None:
    """Return the first items that wait, as cards; None if nothing waits."""
    page = app.get(Review).page(caller, OF_TODAY)
    cards = [review.shown(caller, each) for each in page.items]
    return {"cards": cards, "total": sum(page.counts[each] for each in WAITING)} if cards else None


PAGES = Pages(views=(review.VIEWS,), menu=(MenuEntry(40, "/review", later("Review")),))
