"""The items that wait for a person, in the words of the pages."""

from collections.abc import Mapping

from minutebook.features.pages.frame.catalogue import Later, texts_beside
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.records import address_of, name_of
from minutebook.features.tidying.findings import Topic
from minutebook.features.tidying.inbox import ShownSuggestion
from minutebook.features.tidying.review import Item
from minutebook.record.records import Decision, Proposal, Record, Summary, TextRecord

LOOKED_AT = 400
"""Changes that are examined while a person waits for the page."""

_TEXTS = texts_beside(__file__)

TITLES: Mapping[Topic, Later] = {topic: _TEXTS["titles"][topic] for topic in Topic}
"""The text of each topic, with the effect of applying it."""

SHORT: Mapping[Topic, Later] = {topic: _TEXTS["short"][topic] for topic in Topic}
"""The words on the filters."""


def records_of(item: Item) -> list[tuple[bool, str, str]]:
    """Return for each record of an item whether it ends if the suggestion is applied, its address and its text."""
    is_suggested = item.suggestion is not None
    return [
        (is_suggested and place > 0, address_of(each), _text(each))
        for place, each in enumerate(item.records)
    ]


def reason_of(shown: ShownSuggestion) -> str:
    """Return the reason of a suggestion, in a sentence."""
    examined = shown.examined
    facts = {} if examined is None else examined.facts
    match shown.suggestion.finding:
        case Topic.CONTRADICTION:
            values = {name: facts.get(name) or "…" for name in ("old", "new")}
            return _("“{old}” in the older, “{new}” in the newer.", **values)
        case Topic.MERGE:
            return _wording_reason(facts)
        case Topic.EXPIRED:
            values = {name: facts.get(name, "") for name in ("words", "past")}
            return _("“{words}”, from when it was written: past since {past}.", **values)
        case Topic.CITED:
            became = _TEXTS["cited"].get(facts.get("verdict", ""))
            values = {name: facts.get(name, "") for name in ("cited", "since")}
            found = _("{cited}: {became} since {since}.", became=str(became or ""), **values)
            return " ".join(filter(None, (found, _end_of(shown.records[0]))))
        case _:
            return ""


def _end_of(record: Record) -> str:
    """Return how a record ends that cannot be changed; empty for others."""
    match record:
        case Decision():
            return _("Only a decision that takes its place ends it.")
        case Summary():
            return _("Nothing ends it; the session can be summarised anew.")
        case _:
            return ""


def _wording_reason(facts: Mapping[str, str]) -> str:
    left_out, added = facts.get("left_out", ""), facts.get("added", "")
    match bool(left_out), bool(added):
        case True, True:
            return _("It leaves out: {left_out}. It adds: {added}.", left_out=left_out, added=added)
        case True, False:
            return _("It leaves out: {left_out}.", left_out=left_out)
        case False, True:
            return _("It adds: {added}.", added=added)
        case _:
            return _("It leaves no word of theirs out, and adds none.")


def _text(record: Record) -> str:
    if isinstance(record, Decision | Proposal):
        return f"{record.title}\n{record.rationale}"
    return record.text if isinstance(record, TextRecord) else name_of(record)
