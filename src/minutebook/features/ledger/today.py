"""The decisions of a day."""

from collections.abc import Iterator
from urllib.parse import quote

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.domain.reason import Reason, counted


def decided(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the decisions that were recorded."""
    from minutebook.features.ledger.decisions import DecisionActs

    everything = app.get(DecisionActs).everything(caller)
    found = [each for each in everything if span.holds(each.created_at)]
    if found:
        counts = [counted("{count:,} decision", "{count:,} decisions", len(found))]
        lines = [
            DayLine(
                Reason("Decided: {title}", title=each.title),
                each.created_at,
                f"/decisions/{quote(each.id, safe='')}",
                each.repository or "",
                "" if each.origin is None else each.origin.client,
            )
            for each in found
        ]
        yield DayPart(DayTopic.LEARNED, counts, lines)
