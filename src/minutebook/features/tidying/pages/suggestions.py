"""The items that wait for a person, in the words of the pages."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from minutebook.domain.records import Decision, Entity, Memory, Proposal, Record, Turn
from minutebook.features.pages.frame.catalogue import Later, later
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.tidying.findings import Finding, Topic
from minutebook.features.tidying.inbox import Waiting
from minutebook.features.tidying.review import Item

LOOKED_AT = 400
"""Changes that are looked at while a person waits for the page."""

TITLES: Mapping[Topic, Later] = {
    Topic.RULE: later("A rule by an agent, or from elsewhere: once verified, agents are told it"),
    Topic.DUPLICATE: later("Says the same: the older one ends"),
    Topic.CONTRADICTION: later("Says otherwise than a newer one: the older one ends"),
    Topic.MERGE: later("Words others together: it takes their place"),
    Topic.EXPIRED: later("Past by its own words: it ends"),
    Topic.ENDED: later("Ended, and not marked so: it is deprecated"),
    Topic.UNUSED_RULE: later("A rule that nobody recalled: it is deprecated"),
    Topic.SAME_ENTITY: later("Two entities are one: they are merged"),
    Topic.NO_SUMMARY: later("A session without a summary: it is made"),
    Topic.UNVERIFIED: later("An agent wrote it, and nobody verified it: it is verified"),
    Topic.DRAFT: later("A draft that nobody verified: it is verified"),
    Topic.PROPOSAL: later("A proposed decision: to accept it, open it, it needs the secret"),
    Topic.CLASH: later("Several decisions hold for one target: supersede all of them with one"),
    Topic.ACTIVE: later("Active, and nobody verified it: it is verified"),
}
"""What waits, and what applying it does."""

SHORT: Mapping[Topic, Later] = {
    Topic.RULE: later("rules"),
    Topic.DUPLICATE: later("said twice"),
    Topic.CONTRADICTION: later("contradict"),
    Topic.MERGE: later("worded as one"),
    Topic.EXPIRED: later("past"),
    Topic.ENDED: later("ended"),
    Topic.UNUSED_RULE: later("unused rules"),
    Topic.SAME_ENTITY: later("one entity"),
    Topic.NO_SUMMARY: later("no summary"),
    Topic.UNVERIFIED: later("unverified"),
    Topic.DRAFT: later("drafts"),
    Topic.PROPOSAL: later("proposals"),
    Topic.CLASH: later("decisions that contradict"),
    Topic.ACTIVE: later("active"),
}
"""What is written on the filters."""

_NAMES: Mapping[str, Later] = {
    "an alias of one is the other's name": later("An alias of one is the other’s name."),
    "the same name, spelt otherwise": later("The same name, spelt otherwise."),
    "the same words in another order": later("The same words in another order."),
    "the same name, once in the plural": later("The same name, once in the plural."),
    "a part of the full name, and the same neighbours": later(
        "A part of the full name, and the same neighbours."
    ),
    "the same name with an initial, and the same neighbours": later(
        "The same name with an initial, and the same neighbours."
    ),
    "the initials of the other name": later("The initials of the other name."),
    "the beginning of the other name": later("The beginning of the other name."),
    "one letter differs, and the same neighbours": later(
        "One letter differs, and the same neighbours."
    ),
    "one letter differs": later("One letter differs."),
    "the same name, once with its type": later("The same name, once with its type."),
}
"""Why two entities are taken for one."""


def records_of(item: Item) -> list[tuple[str, str, str]]:
    """Return of each record of an item its part in it, its address and its text."""
    others = len(item.records) - 1
    is_of_several = item.waiting is not None and others > 0
    parts = [_("stays"), *[_("goes")] * others] if is_of_several else [""]
    return [
        (part, _address(each), _text(each)) for part, each in zip(parts, item.records, strict=True)
    ]


def reason_of(waiting: Waiting) -> str:
    """Return why something is suggested."""
    examined = waiting.examined
    facts = {} if examined is None else examined.facts
    match waiting.suggestion.finding:
        case Finding.CONTRADICTION:
            return _("“{old}” in the older, “{new}” in the newer.", **_both(facts))
        case Finding.MERGE:
            return _of_wording(facts)
        case Finding.EXPIRED:
            said = {name: facts.get(name, "") for name in ("words", "past")}
            return _("“{words}”, from when it was written: past since {past}.", **said)
        case Finding.UNUSED_RULE:
            since = facts.get("since", "")
            return _("No question got it since the recall log was begun ({since}).", since=since)
        case Finding.SAME_ENTITY:
            found = _NAMES.get(facts.get("reason", ""))
            return "" if found is None else str(found)
        case _:
            return ""


def _of_wording(facts: Mapping[str, str]) -> str:
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


def _both(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: facts.get(name) or "…" for name in ("old", "new")}


def _address(record: Record) -> str:
    match record:
        case Turn():
            return "/session?" + urlencode({"name": record.session})
        case Decision() | Proposal():
            return f"/decisions/{quote(record.id, safe='')}"
        case Entity():
            return "/graph?" + urlencode({"at": record.id})
        case _:
            return f"/memories/{quote(record.id, safe='')}"


def _text(record: Record) -> str:
    match record:
        case Memory():
            return record.text
        case Entity():
            return f"{record.name} ({record.type})"
        case Turn():
            return record.session
        case Decision() | Proposal():
            return f"{record.title} ({record.target})\n\n{record.rationale}"
        case _:
            return record.id
