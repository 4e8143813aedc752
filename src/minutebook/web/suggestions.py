"""Suggestions of how to put the records in order, in the words of the pages."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from minutebook.domain.records import Entity, Memory, Record, Turn
from minutebook.domain.tidying import Finding
from minutebook.services.tidying.inbox import Waiting
from minutebook.web.catalogue import Later, later
from minutebook.web.catalogue import text as _

LOOKED_AT = 400
"""Changes that are looked at while a person waits for the page."""

TITLES: Mapping[Finding, Later] = {
    Finding.DUPLICATE: later("Says the same: the older one ends"),
    Finding.CONTRADICTION: later("Says otherwise than a newer one: the older one ends"),
    Finding.EXPIRED: later("Past by its own words: it ends"),
    Finding.ENDED: later("Ended, and not marked so: it is deprecated"),
    Finding.UNUSED_RULE: later("A rule that nobody recalled: it is deprecated"),
    Finding.SAME_ENTITY: later("Two entities are one: they are merged"),
    Finding.NO_SUMMARY: later("A session without a summary: it is made"),
}
"""What is found, and what applying it does."""

KINDS = frozenset(TITLES)
"""What is listed: memories that nobody verified have a part of their own."""

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


def described(waiting: Waiting) -> tuple[str, str, list[tuple[str, str, str]]]:
    """Return what is suggested, why, and of each record its part in it, its address and its text."""
    parts = [_("stays"), _("goes")] if len(waiting.records) == 2 else [""]
    records = [
        (part, _address(each), _text(each))
        for part, each in zip(parts, waiting.records, strict=False)
    ]
    return str(TITLES[waiting.suggestion.finding]), _reason(waiting), records


def counted(counts: Mapping[Finding, int]) -> list[tuple[str, int]]:
    """Return how many wait of each kind that is listed, and its title."""
    return [(str(title), counts[each]) for each, title in TITLES.items() if counts.get(each)]


def _reason(waiting: Waiting) -> str:
    examined = waiting.examined
    facts = {} if examined is None else examined.facts
    match waiting.suggestion.finding:
        case Finding.CONTRADICTION:
            return _("“{old}” in the older, “{new}” in the newer.", **_both(facts))
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


def _both(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: facts.get(name) or "…" for name in ("old", "new")}


def _address(record: Record) -> str:
    match record:
        case Turn():
            return "/session?" + urlencode({"name": record.session})
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
        case _:
            return record.id
