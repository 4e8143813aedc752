"""Suggestions: changes that put a store in order, each waiting for a person or for a rule that one set."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from minutebook.record.errors import InvalidInput
from minutebook.record.records import Kind


class Topic(StrEnum):
    """The topic of an open item: a finding of tidying with its suggested change, or a record that waits for a person."""

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


FINDINGS = (Topic.DUPLICATE, Topic.CONTRADICTION, Topic.MERGE, Topic.EXPIRED, Topic.CITED)
"""The topics of suggestions, in the order of the list."""

OPEN_TOPICS = tuple(each for each in Topic if each is not Topic.ACTIVE)
"""The topics of all items that wait for a person, in the order of the list; active memories are shown only on request."""


class State(StrEnum):
    """The state of a suggestion; a waiting one becomes open when it is due."""

    WAITING = "waiting"
    OPEN = "open"
    APPLIED = "applied"
    REFUSED = "refused"


Subject = tuple[Kind, str]
"""The kind and id of a record that a suggestion is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One suggested change, without any text of the records that it is about.

    `number` is unique in its organization, 0 while it has none. `subjects` are records; the last one is changed, of
    a MERGE all but the first. It becomes open at the instant `due`. `settled_by` applied, refused or took it back, by
    the entries `first_entry` to `entry` of the trail (None: not settled); one that was taken back is open again.
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
    """Return the id of a suggestion about some records, whatever their order.

    `topic` is "pair" for duplicates and contradictions, as one may later be found to be the other; `more` tells
    suggestions about the same records apart.
    """
    named = "\n".join([topic, *sorted(f"{kind} {id}" for kind, id in subjects), more])
    digest = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{topic}.{digest[:32]}"


def finding_of(name: str) -> Topic:
    """Return the finding with a name. Raises ValueError if there is none."""
    topic = Topic(name)
    if topic not in FINDINGS:
        raise ValueError(name)
    return topic


def parse_rules(given: Sequence[str]) -> Mapping[Topic, float]:
    """Read rules such as `duplicate=0.95`; return the least certainty at which a finding is applied unasked.

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
