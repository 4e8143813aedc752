"""The findings on the records that a suggestion names, as they are now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time

from minutebook.app import App
from minutebook.features.citations.cited import CitationVerdict
from minutebook.features.citations.telling import printable
from minutebook.features.tidying.findings import Subject, Suggestion, Topic, suggestion_id
from minutebook.features.tidying.judging.times import end_of
from minutebook.features.tidying.judging.wordings import SHOWN_WORDS, faithfulness, merged_ids
from minutebook.features.tidying.looking.notes import Comparison, PairVerdict, compare
from minutebook.memory.access.visibility import everything_in
from minutebook.record.errors import InvalidInput
from minutebook.record.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Decision,
    DecisionStatus,
    Kind,
    Memory,
    Record,
    Summary,
    Version,
)
from minutebook.record.writing.validity import holds_at
from minutebook.text.revisions import DatedText
from minutebook.text.words import MAX_QUERY, check_query, parse_query

LOOKED_AT = 5
"""Memories with the same words that are compared if there is no model."""

LONGEST_WAIT = 30.0
"""Seconds to wait for the model, if it is not loaded yet."""


class MemoryNeighbours:
    """Finds the memories with which one is compared: by meaning or, without a model, by words."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.store
        self._similar, self._embedding, self._clock = app.similar, app.embedding, app.clock

    def near(self, memory: Memory) -> list[Memory]:
        """Return the memories that hold now and are similar to one, whether or not the caller may see them."""
        view = everything_in(self._store, memory.organization).where(valid_at=self._clock())
        if self._similar.can_tell and not self._embedding.is_off:
            # A memory without vectors is examined when it gets them, as that is a change, too.
            return self._similar.about_the_same(view, memory)
        query = memory.text[: MAX_QUERY // 2]
        try:
            check_query(query)
        except InvalidInput:
            return []
        here = view.narrowed(scope=memory.scope, repository=memory.repository, user=memory.user)
        hits = here.match(Memory, parse_query(query), LOOKED_AT + 1)
        ids = frozenset(each.id for each in hits if each.id != memory.id)
        return view.where(ids=ids).find(Memory) if ids else []

    def compare(self, older: Memory, newer: Memory) -> Comparison:
        """Compare two memories of one organization, by the model's states of their words if both have them, else by words."""
        states = self._similar.states_of((older, newer))
        if len(states) == 2 and not self._embedding.is_off:
            self._embedding.settle(LONGEST_WAIT)
        old, new = (
            DatedText(each.text, each.updated_at, states.get((each.organization, each.id)))
            for each in (older, newer)
        )
        speller = self._embedding.speller
        return compare(old, new, None if speller is None else speller.spell)


@dataclass(frozen=True, slots=True)
class Examined:
    """A finding on some records; `subjects` has their kinds and ids, in the order of `Suggestion.subjects`.

    It holds from the instant `due`; `facts` are shown to people and never stored.
    """

    finding: Topic
    certainty: float
    subjects: tuple[Subject, ...]
    records: tuple[Record, ...]
    due: datetime | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


class Examining:
    """Examines records, whoever may see them: findings are shown only to callers that may see all of theirs."""

    def __init__(self, app: App) -> None:
        from minutebook.features.citations.verdicts import Citations

        self._store, self._records = app.infrastructure.store, app.infrastructure.records
        self._clock = app.clock
        self._candidates = app.get(MemoryNeighbours)
        self._citations = app.get(Citations)

    def examine_again(self, suggestion: Suggestion) -> Examined | None:
        """Return the finding on the records of a suggestion as they are now; None if it is not the same any more."""
        organization = suggestion.organization
        records = [
            self._store.get(CLASSES[kind], organization, id) for kind, id in suggestion.subjects
        ]
        if None in records:
            return None
        match suggestion.finding, records:
            case Topic.CITED, [Memory() | Decision() | Summary() as record]:
                found = self.citing(record)
            case Topic.DUPLICATE | Topic.CONTRADICTION, [Memory() as one, Memory() as other]:
                found = self.pair(one, other)
            case Topic.MERGE, [Memory() as memory, *_]:
                found = self.wording(memory)
            case Topic.EXPIRED, [Memory() as memory]:
                found = self.expired(memory)
            case _:
                found = None
        if found is None or suggestion.id != suggestion_of(organization, found, self._clock()).id:
            return None
        return found

    def expired(self, memory: Memory) -> Examined | None:
        """Return the finding that a memory is past by its own words, now or from a later day; None if it names no end."""
        if not _may_change(memory) or memory.valid_until is not None:
            return None
        end = end_of(memory.text, self._written(memory).date())
        if end is None:
            return None
        due = datetime.combine(end.past_from, time(), UTC)
        if due <= memory.valid_from:
            return None
        facts = {"words": end.words, "past": end.past_from.isoformat()}
        subjects = ((Kind.MEMORY, memory.id),)
        return Examined(Topic.EXPIRED, end.certainty, subjects, (memory,), due, facts)

    def pair(self, one: Memory, other: Memory) -> Examined | None:
        """Return the finding that one of two similar memories should end; None if both should stay."""
        now = self._clock()
        if _scope_of(one) != _scope_of(other) or not (_holds(one, now) and _holds(other, now)):
            return None
        newer, older = sorted((one, other), key=self._age, reverse=True)
        found = self._candidates.compare(older, newer)
        if found.verdict is PairVerdict.APART or self._is_pattern(older, newer, found):
            return None
        stays, goes = (older, newer) if found.is_older_fuller else (newer, older)
        if not _may_change(goes) or self._records.are_linked(one, other):
            return None
        if newer.id in merged_ids(older.metadata) or older.id in merged_ids(newer.metadata):
            return None
        is_same = found.verdict is PairVerdict.SAME
        return Examined(
            Topic.DUPLICATE if is_same else Topic.CONTRADICTION,
            found.chance,
            ((Kind.MEMORY, stays.id), (Kind.MEMORY, goes.id)),
            (stays, goes),
            facts={"old": found.old, "new": found.new},
        )

    def _is_pattern(self, older: Memory, newer: Memory, found: Comparison) -> bool:
        """Tell whether a third memory differs from the newer one by another word in the same place.

        Then that word is the subject of each memory, not a value that has replaced another.
        """
        if not found.is_exchangeable:
            return False
        now, known = self._clock(), {older.id, newer.id}
        for third in self._candidates.near(newer):
            if third.id in known or _scope_of(third) != _scope_of(newer) or not _holds(third, now):
                continue
            other = self._candidates.compare(third, newer)
            if other.is_exchangeable and other.new == found.new and other.old != found.old:
                return True
        return False

    def wording(self, memory: Memory) -> Examined | None:
        """Return the finding that a memory words others together and should replace them.

        None if it words none, or if one of them was changed since.
        """
        now, organization = self._clock(), memory.organization
        named = [self._store.get(Memory, organization, id) for id in merged_ids(memory.metadata)]
        found = [each for each in named if each is not None and each.id != memory.id]
        is_whole = found and len(found) == len(named) and _holds(memory, now)
        if not is_whole or any(_scope_of(each) != _scope_of(memory) for each in found):
            return None
        goes = [each for each in found if _holds(each, now)]
        written = self._written(memory)
        if not goes or not all(_may_change(each) for each in goes):
            return None
        if any(self._written(each) > written for each in goes):
            return None
        faithful = faithfulness(memory.text, [each.text for each in goes])
        return Examined(
            Topic.MERGE,
            faithful.certainty,
            tuple((Kind.MEMORY, each.id) for each in (memory, *goes)),
            (memory, *goes),
            facts={
                "left_out": ", ".join(faithful.left_out[:SHOWN_WORDS]),
                "added": ", ".join(faithful.added[:SHOWN_WORDS]),
            },
        )

    def citing(self, record: Memory | Decision | Summary) -> Examined | None:
        """Return the finding that a record cites code which has changed or is gone in a commit; None if it does not."""
        match record:
            case Memory():
                holds = _may_change(record) and _holds(record, self._clock())
            case Decision():
                holds = record.status is DecisionStatus.ACTIVE
            case Summary():
                holds = True
        doubt = self._citations.settled_doubt(record) if holds else None
        if doubt is None:
            return None
        certainty = 0.7 if doubt.verdict is CitationVerdict.GONE else 0.4
        facts = {
            "cited": printable(doubt.cited.written),
            "verdict": str(doubt.verdict),
            "since": doubt.since,
        }
        subjects = ((record.kind, record.id),)
        return Examined(Topic.CITED, certainty, subjects, (record,), facts=facts)

    def _age(self, memory: Memory) -> tuple[datetime, datetime, str]:
        return self._written(memory), memory.ingestion_time, memory.id

    def _written(self, memory: Memory) -> datetime:
        """Return when the present text of a memory was written."""
        if memory.version == 1:
            return memory.event_time
        id = f"{memory.id}.{memory.version}"
        version = self._store.get(Version, memory.organization, id)
        return memory.updated_at if version is None else version.changed_at


def suggestion_of(organization: str, examined: Examined, now: datetime) -> Suggestion:
    """Return a finding as a suggestion without a number."""
    finding = examined.finding
    is_pair = finding in (Topic.DUPLICATE, Topic.CONTRADICTION)
    more = ""
    if finding is Topic.EXPIRED and examined.due is not None:
        # If the text names another day later, that is another suggestion.
        more = examined.due.isoformat()
    if finding is Topic.CITED:
        # So is another change of the code.
        more = examined.facts["since"]
    subjects = examined.subjects
    if finding is Topic.MERGE:
        # It is the same suggestion if one of the memories to be replaced has gone already.
        subjects = subjects[:1]
    return Suggestion(
        organization=organization,
        id=suggestion_id("pair" if is_pair else finding, subjects, more),
        finding=finding,
        certainty=round(examined.certainty, 3),
        subjects=examined.subjects,
        found_at=now,
        due=examined.due,
    )


def _may_change(memory: Memory) -> bool:
    """Tell whether a memory may be changed at all, by any caller."""
    is_system = memory.organization == SYSTEM_ORGANIZATION
    return memory.deleted_at is None and memory.locked_by is None and not is_system


def _holds(memory: Memory, now: datetime) -> bool:
    return memory.deleted_at is None and holds_at(memory, now)


def _scope_of(memory: Memory) -> tuple[object, ...]:
    return memory.organization, memory.scope, memory.repository, memory.user
