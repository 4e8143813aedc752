"""Suggestions: changes that put a store in order, each waiting for a person or for a rule that one set."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from minutebook.record.errors import InvalidInput
from minutebook.record.records import Kind


class Topic(StrEnum):
    """The topic of a pending item: a finding, which implies the suggested change, or an item that others left open."""

    RULE = "rule"
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    MERGE = "merge"
    EXPIRED = "expired"
    CITED = "cited"
    UNVERIFIED = "unverified"
    DRAFT = "draft"
    PROPOSAL = "proposal"
    CLASH = "clash"
    ACTIVE = "active"


_OF_OTHERS = (
    *(Topic.RULE, Topic.UNVERIFIED, Topic.DRAFT, Topic.PROPOSAL, Topic.CLASH, Topic.ACTIVE),
)

FINDINGS = tuple(each for each in Topic if each not in _OF_OTHERS)
"""The topics of suggestions."""

WAITING = tuple(each for each in Topic if each is not Topic.ACTIVE)
"""All that waits, in the order of the list; active memories are shown only where somebody asks for them."""


class State(StrEnum):
    """Where in its life a suggestion is; a waiting one is due later."""

    WAITING = "waiting"
    OPEN = "open"
    APPLIED = "applied"
    REFUSED = "refused"


Subject = tuple[Kind, str]
"""The kind and id of a record that a suggestion is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One suggested change, without any text of the records that it is about.

    `number` tells it from the others of its organization, 0 while it has none. `subjects` are records, the
    one that changes last. `due` is from when on it is to be looked at. `settled_by` is who applied, refused or
    took it back, by the entries `first_entry` to `entry` of the trail (None: not settled); one that was taken back is open again.
    """

    organization: str
    id: str
    finding: Topic
    certainty: float
    subjects: tuple[Subject, ...]
    found_at: datetime
    state: State = State.OPEN
    number: int = 0
    due: datetime | None = None
    settled_at: datetime | None = None
    settled_by: str = ""
    first_entry: int | None = None
    entry: int | None = None


def suggestion_id(topic: str, subjects: Sequence[Subject], more: str = "") -> str:
    """Return the id of a suggestion about some records, in whichever order they come.

    What was found to repeat another may later be found to contradict it: both are one topic.
    """
    named = "\n".join([topic, *sorted(f"{kind} {id}" for kind, id in subjects), more])
    digest = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{topic}.{digest[:32]}"


def finding_of(name: str) -> Topic:
    """Return the topic of suggestions of a name. Raises ValueError if there is none."""
    if (found := Topic(name)) not in FINDINGS:
        raise ValueError(name)
    return found


def parse_rules(given: Sequence[str]) -> Mapping[Topic, float]:
    """Read rules such as `duplicate=0.95`: the certainty from which a finding is applied unasked.

    Raises InvalidInput if one is no such rule.
    """
    rules: dict[Topic, float] = {}
    for each in given:
        name, equals, least = each.partition("=")
        try:
            rules[finding_of(name.strip())] = number = float(least)
        except ValueError:
            number = -1.0
        if not equals or not 0.0 <= number <= 1.0:
            known = ", ".join(FINDINGS)
            raise InvalidInput(
                "tidy_rules",
                "must name a finding and a certainty from 0 to 1, such as duplicate=0.95 (got {given!r}); findings are {names}",
                given=each,
                names=known,
            )
    return rules
