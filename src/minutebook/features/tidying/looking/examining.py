"""The findings on the records that a suggestion names, as they are now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time

from minutebook.app import App
from minutebook.features.citations.cited import CitationVerdict
from minutebook.features.citations.telling import shown
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
"""Memories with the same words that are compared where there is no model."""

LONGEST_WAIT = 30.0
"""Seconds that are waited for the model, if nobody has loaded it yet."""


class MemoryNeighbours:
    """Finds the memories that one is compared with: by meaning or, without a model, by words."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.store
        self._similar, self._embedding, self._clock = app.similar, app.embedding, app.clock

    def near(self, memory: Memory) -> list[Memory]:
        """Return the memories that hold now and are like one, whoever asks."""
        view = everything_in(self._store, memory.organization).where(valid_at=self._clock())
        if self._similar.can_tell and not self._embedding.is_off:
            # What has no vectors yet is looked at when they come: they are a change, too.
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
        """Compare two memories of one organization: by the states of their words, which the model spells, or by words."""
        states = self._similar.states_of((older, newer))
        if len(states) == len((older, newer)) and not self._embedding.is_off:
            self._embedding.settle(LONGEST_WAIT)
        old, new = (
            DatedText(each.text, each.updated_at, states.get((each.organization, each.id)))
            for each in (older, newer)
        )
        speller = self._embedding.speller
        return compare(old, new, None if speller is None else speller.spell)


@dataclass(frozen=True, slots=True)
class Examined:
    """The finding on some records: the one that changes last, and facts in their words.

    `due` is from when on it is so; `facts` are shown to people and kept nowhere.
    """

    finding: Topic
    certainty: float
    subjects: tuple[Subject, ...]
    records: tuple[Record, ...]
    due: datetime | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


class Examining:
    """Examines records for anyone: findings are shown only to callers that may see all of them."""

    def __init__(self, app: App) -> None:
        from minutebook.features.citations.verdicts import Citations

        self._store, self._records = app.infrastructure.store, app.infrastructure.records
        self._clock = app.clock
        self._candidates = app.get(MemoryNeighbours)
        self._citations = app.get(Citations)

    def examine_again(self, suggestion: Suggestion) -> Examined | None:
        """Look at the records of a suggestion again; None if there is nothing to suggest any more."""
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
        """Return that a memory is past by its own words, also on a later day; None if it names no end."""
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
        """Compare two memories that are alike; None if both are to stay."""
        now = self._clock()
        if _place(one) != _place(other) or not (_stands(one, now) and _stands(other, now)):
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
        """Tell whether a third memory says the same with another word in the place where these two differ.

        That word is then what each of them is about, not a value that took the place of another.
        """
        if not found.is_exchangeable:
            return False
        now, known = self._clock(), {older.id, newer.id}
        for third in self._candidates.near(newer):
            if third.id in known or _place(third) != _place(newer) or not _stands(third, now):
                continue
            other = self._candidates.compare(third, newer)
            if other.is_exchangeable and other.new == found.new and other.old != found.old:
                return True
        return False

    def wording(self, memory: Memory) -> Examined | None:
        """Tell which memories a memory words together and so takes the place of.

        None if it words none, or if one of them was written anew since, since it does not say what that one says
        now.
        """
        now, organization = self._clock(), memory.organization
        named = [self._store.get(Memory, organization, id) for id in merged_ids(memory.metadata)]
        there = [each for each in named if each is not None and each.id != memory.id]
        is_whole = there and len(there) == len(named) and _stands(memory, now)
        if not is_whole or any(_place(each) != _place(memory) for each in there):
            return None
        goes = [each for each in there if _stands(each, now)]
        written = self._written(memory)
        if not goes or not all(_may_change(each) for each in goes):
            return None
        if any(self._written(each) > written for each in goes):
            return None
        found = faithfulness(memory.text, [each.text for each in goes])
        return Examined(
            Topic.MERGE,
            found.certainty,
            tuple((Kind.MEMORY, each.id) for each in (memory, *goes)),
            (memory, *goes),
            facts={
                "left_out": ", ".join(found.left_out[:SHOWN_WORDS]),
                "added": ", ".join(found.added[:SHOWN_WORDS]),
            },
        )

    def citing(self, record: Memory | Decision | Summary) -> Examined | None:
        """Tell of a record that cites code which has changed or is gone, as committed; None if it cites none."""
        match record:
            case Memory():
                holds = _may_change(record) and _stands(record, self._clock())
            case Decision():
                holds = record.status is DecisionStatus.ACTIVE
            case Summary():
                holds = True
        doubt = self._citations.settled_doubt(record) if holds else None
        if doubt is None:
            return None
        certainty = 0.7 if doubt.verdict is CitationVerdict.GONE else 0.4
        facts = {
            "cited": shown(doubt.cited.written),
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
        # A text that names another day asks another question.
        more = examined.due.isoformat()
    if finding is Topic.CITED:
        # So does another change of the code.
        more = examined.facts["since"]
    subjects = examined.subjects
    if finding is Topic.MERGE:
        # It stays one suggestion when one of the memories that are to go has gone already.
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
    """Tell whether a memory is one that may be changed at all, whoever asks."""
    is_system = memory.organization == SYSTEM_ORGANIZATION
    return memory.deleted_at is None and memory.locked_by is None and not is_system


def _stands(memory: Memory, now: datetime) -> bool:
    return memory.deleted_at is None and holds_at(memory, now)


def _place(memory: Memory) -> tuple[object, ...]:
    return memory.organization, memory.scope, memory.repository, memory.user
