"""The questions of a day, and the briefs before prompts."""

from collections.abc import Iterator

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.domain.reason import Reason, counted
from minutebook.features.pages.frame.records import address_of, name_of
from minutebook.features.recall_log.recall_log import RecallLog, ShownRecall

MOST = 500
"""Entries that are counted, the latest."""

QUOTED = 60
"""Characters of a question, or of its first hit."""


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
    counts: list[str] = (
        [counted("{count:,} answer", "{count:,} answers", len(found))] if found else []
    )
    remedy = "" if found else Reason("`minutebook doctor` says whether clients are connected.")
    if not recalls.is_whole():
        counts.append(Reason("not known: answers cannot be noted at present"))
        remedy = Reason("`minutebook doctor` says why.")
    yield DayPart(DayTopic.TOLD, counts, [_line(each) for each in found], remedy)


def _line(recall: ShownRecall) -> DayLine:
    """Return a question, which may not be kept, and its hits as a line; pages have a part of their own."""
    entry, got = recall.entry, [record for record, _ in recall.got]
    client = entry.actor if entry.client in ("", "minutebook") else entry.client
    asked = f"asked “{_quoted(entry.question)}”:" if entry.question else "was told"
    first = f"“{_quoted(name_of(got[0]))}”" if got else "nothing"
    more = f" and {len(got) - 1:,} more" if len(got) > 1 else ""
    return DayLine(f"{client} {asked} {first}{more}", entry.at, address_of(got[0]) if got else "")


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"
