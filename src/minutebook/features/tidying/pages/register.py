"""The page *Review*, as the feature registers it."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import MenuEntry, Pages
from minutebook.features.tidying.findings import OPEN_TOPICS
from minutebook.features.tidying.pages import review
from minutebook.features.tidying.review import Review
from minutebook.record.caller import Caller
from minutebook.record.day import DaySpan
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import Status

OF_TODAY = 3
"""Items that *Today* shows."""

LOOKED_AT = 100
"""The latest memories among which near-duplicates are searched for: 5 ms each."""


def waiting(app: App, caller: Caller, is_examined: bool) -> Mapping[str, Any]:  # noqa: FBT001 - as the page asks
    """Return the counts of records that wait; of near-duplicates only if the store is being examined."""
    pairs, looked_at = app.similar.pairs(caller, LOOKED_AT) if is_examined else (None, 0)
    return {
        "unverified": app.overview.memories(caller, MemoryQuery(status=Status.UNVERIFIED)),
        "contradictions": len(app.get(Review).clashes(caller)),
        "finds_alike": not app.embedding.is_off,
        "alike": None if pairs is None else len(pairs),
        "looked_at": looked_at,
    }


def first_items(app: App, caller: Caller, _span: DaySpan) -> Mapping[str, Any] | None:
    """Return the first open items, as cards, and how many there are; None if there is none."""
    page = app.get(Review).page(caller, OF_TODAY)
    cards = [review.shown(caller, each) for each in page.items]
    return (
        {"cards": cards, "total": sum(page.counts[each] for each in OPEN_TOPICS)} if cards else None
    )


PAGES = Pages(views=(review.VIEWS,), menu=(MenuEntry(40, "/review", later("Review")),))
