"""The questions of a day, and the briefs before prompts."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.domain.reason import Reason, counted
from minutebook.domain.records import Kind, Record
from minutebook.features.recall_log.recall_log import ShownRecall
from minutebook.features.recall_log.services import RecallLogServices

MOST = 500
"""Entries that are counted, the latest."""

QUOTED = 60
"""Characters of a question, or of its first hit."""


def answered(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the questions that were asked, each with its first hit."""
    recalls = app.get(RecallLogServices).recalls
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
    entry, got = recall.entry, [record for record, _ in recall.got]
    given = {
        "client": entry.actor if entry.client in ("", "minutebook") else entry.client,
        "question": _quoted(entry.question or ""),
        "got": _quoted(_text(got[0])) if got else "",
        "more": len(got) - 1,
    }
    return DayLine(_sentence(bool(entry.question), len(got), given), entry.at, _address(got))


def _sentence(has_question: bool, got: int, given: dict[str, object]) -> Reason:  # noqa: FBT001
    """Return the sentence on a question, which may not be kept, and its hits."""
    match has_question, min(got, 2):
        case True, 0:
            return Reason("{client} asked “{question}”: nothing was told", **given)
        case True, 1:
            return Reason("{client} asked “{question}”: “{got}”", **given)
        case True, _:
            return Reason("{client} asked “{question}”: “{got}” and {more:,} more", **given)
        case False, 0:
            return Reason("{client} asked: nothing was told", **given)
        case False, 1:
            return Reason("{client} was told “{got}”", **given)
        case _:
            return Reason("{client} was told “{got}” and {more:,} more", **given)


def _address(got: Sequence[Record]) -> str:
    """Return the address of the first hit, if it is a memory."""
    return f"/memories/{quote(got[0].id, safe='')}" if got and got[0].kind is Kind.MEMORY else ""


def _text(record: Record) -> str:
    return str(getattr(record, "title", None) or getattr(record, "text", ""))


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"
