"""The findings on the records that a suggestion names, as they are now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta

from minutebook.domain.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Decision,
    DecisionStatus,
    Edge,
    Entity,
    Kind,
    Memory,
    MemoryType,
    Record,
    Status,
    Summary,
    Turn,
    Version,
)
from minutebook.domain.writing.turns import summary_id, turns_of
from minutebook.domain.writing.validity import holds_at
from minutebook.features.citations.cited import CitationVerdict
from minutebook.features.citations.telling import shown
from minutebook.features.citations.verdicts import Citations
from minutebook.features.recall_log.rows import RecallQuery, RecallRows
from minutebook.features.tidying.findings import Subject, Suggestion, Topic, suggestion_id
from minutebook.features.tidying.judging.names import NamedEntity, sameness
from minutebook.features.tidying.judging.times import end_of
from minutebook.features.tidying.judging.wordings import SHOWN_WORDS, faithfulness, merged_ids
from minutebook.features.tidying.looking.candidates import MemoryNeighbours
from minutebook.features.tidying.looking.notes import Comparison, PairVerdict
from minutebook.services.access.visibility import Clock
from minutebook.store.protocol import Tended

RULES = (MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT, MemoryType.CONVENTION)
"""The types of memories that are rules."""

SHOWN_AT_START = (MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT)
"""Those that hooks show to each session: that nobody recalled them tells nothing where hooks are used."""

UNUSED_AFTER = timedelta(days=21)
"""How long the recall log, and the rule, must have been kept before nobody's asking tells something."""

LEAST_RECALLS = 50
"""Questions that the log must hold for that."""

QUIET = timedelta(days=1)
"""How long nobody wrote to a session that is taken to be over."""

LEAST_SAMENESS = 0.7
"""From which certainty on two entities are suggested to be one."""

CLIENT_HOOK = "before a prompt"


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

    def __init__(
        self, store: Tended, candidates: MemoryNeighbours, citations: Citations, clock: Clock
    ) -> None:
        self._store = store
        self._recalls = RecallRows(store.database)
        self._candidates = candidates
        self._citations = citations
        self._clock = clock

    def again(self, suggestion: Suggestion) -> Examined | None:
        """Look at the records of a suggestion again; None if there is nothing to suggest any more."""
        organization = suggestion.organization
        records = [
            self._store.get(CLASSES[kind], organization, id) for kind, id in suggestion.subjects
        ]
        if None in records:
            return None
        match suggestion.finding, records:
            case Topic.NO_SUMMARY, [Turn() as turn]:
                found = self.session(organization, turn.id)
            case Topic.SAME_ENTITY, [Entity() as one, Entity() as other]:
                found = self.entities(one, other)
            case Topic.CITED, [Memory() | Decision() | Summary() as record]:
                found = self.citing(record)
            case Topic.DUPLICATE | Topic.CONTRADICTION, [Memory() as one, Memory() as other]:
                found = self.pair(one, other)
            case Topic.MERGE, [Memory() as memory, *_]:
                found = self.wording(memory)
            case Topic.UNUSED_RULE, [Memory() as memory]:
                found = self.rule(memory)
            case _, [Memory() as memory]:
                of_one = self.alone(memory)
                found = next((each for each in of_one if each.finding is suggestion.finding), None)
            case _:
                found = None
        if found is None or suggestion.id != suggestion_of(organization, found, self._clock()).id:
            return None
        return found

    def alone(self, memory: Memory) -> Iterable[Examined]:
        """Yield the findings on one memory alone, also those of a later day."""
        now = self._clock()
        if not _may_change(memory):
            return
        subjects, records = ((Kind.MEMORY, memory.id),), (memory,)
        if memory.valid_until is not None:
            # An end that somebody planned, and that came; who ended it by hand has seen to it.
            is_planned = memory.valid_until > memory.updated_at
            if is_planned and memory.superseded_by is None and memory.status in _STANDING:
                yield Examined(Topic.ENDED, 0.99, subjects, records, memory.valid_until)
        elif (end := end_of(memory.text, self._written(memory).date())) is not None:
            due = datetime.combine(end.past_from, time(), UTC)
            facts = {"words": end.words, "past": end.past_from.isoformat()}
            if due > memory.valid_from:
                yield Examined(Topic.EXPIRED, end.certainty, subjects, records, due, facts)
        if memory.status is Status.UNVERIFIED and holds_at(memory, now):
            yield Examined(Topic.UNVERIFIED, 0.5, subjects, records)

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
        if not _may_change(goes) or self._are_linked(one, other):
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
        for third in self._candidates.of(newer):
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

    def entities(self, one: Entity, other: Entity) -> Examined | None:
        """Compare two entities; None if they are not likely to be one."""
        if (one.repository, one.user) != (other.repository, other.user):
            return None
        ours, theirs = (self._named(each) for each in (one, other))
        certainty, reason = sameness(ours, theirs)
        if certainty < LEAST_SAMENESS:
            return None
        # The one with more around it stays, of equals the one that was there first.
        weights = {each.id: -len(self._edges(each)) for each in (one, other)}
        stays, goes = sorted((one, other), key=lambda e: (weights[e.id], e.created_at, e.id))
        subjects = ((Kind.ENTITY, stays.id), (Kind.ENTITY, goes.id))
        facts = {"reason": reason}
        return Examined(Topic.SAME_ENTITY, certainty, subjects, (stays, goes), facts=facts)

    def rule(self, memory: Memory) -> Examined | None:
        """Tell of a rule that nobody recalled since the log was begun; None if the log cannot tell."""
        now, organization = self._clock(), memory.organization
        if memory.type not in RULES or not holds_at(memory, now) or not _may_change(memory):
            return None
        since = self.log_since(organization)
        if since is None or memory.ingestion_time > now - UNUSED_AFTER:
            return None
        rows = self._recalls
        uses = RecallQuery(organization=organization, record=(Kind.MEMORY, memory.id))
        if rows.find(uses, 1):
            return None
        if memory.type in SHOWN_AT_START and self._uses_hooks(organization):
            return None
        subjects = ((Kind.MEMORY, memory.id),)
        facts = {"since": since.date().isoformat(), "days": str((now - since).days)}
        return Examined(Topic.UNUSED_RULE, 0.6, subjects, (memory,), facts=facts)

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

    def log_since(self, organization: str) -> datetime | None:
        """Return the begin of the recall log; None if it is too young, or holds too little, to tell."""
        rows, everything = self._recalls, RecallQuery(organization=organization)
        first = rows.first(everything)
        if first is None or first > self._clock() - UNUSED_AFTER:
            return None
        return first if len(rows.find(everything, LEAST_RECALLS)) == LEAST_RECALLS else None

    def session(self, organization: str, turn_id: str) -> Examined | None:
        """Tell of the session of a turn, if it is over and has no summary."""
        turn = self._store.get(Turn, organization, turn_id)
        if turn is None:
            return None
        known = summary_id(turn.session, turn.repository, turn.user)
        if self._store.get(Summary, organization, known) is not None:
            return None
        here = turns_of(organization, turn.session, turn.repository, turn.user)
        (last,) = self._store.find(Turn, here, order=["-at"], limit=1)
        if last.at > self._clock() - QUIET:
            return None
        facts = {"session": turn.session, "turns": str(self._store.count(Turn, here))}
        subjects = ((Kind.TURN, turn.id),)
        return Examined(Topic.NO_SUMMARY, 0.9, subjects, (turn,), facts=facts)

    def _uses_hooks(self, organization: str) -> bool:
        everything = RecallQuery(organization=organization)
        return any(each.act == CLIENT_HOOK for each in self._recalls.find(everything, 200))

    def _named(self, entity: Entity) -> NamedEntity:
        beside = {e.other_end(entity.id) for e in self._edges(entity) if e.kind is Kind.RELATION}
        return NamedEntity(entity.name, entity.type, entity.aliases, frozenset(beside))

    def _edges(self, entity: Entity) -> Sequence[Edge]:
        return self._store.edges(entity.organization, [entity.id], _MOST_EDGES)

    def _are_linked(self, one: Memory, other: Memory) -> bool:
        edges = self._store.edges(one.organization, [one.id])
        return any(e.kind is Kind.LINK and other.id in (e.source, e.target) for e in edges)

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
    if finding in (Topic.EXPIRED, Topic.ENDED) and examined.due is not None:
        # A text that names another day asks another question.
        more = examined.due.isoformat()
    if finding is Topic.CITED:
        # So does another change of the code.
        more = examined.facts["since"]
    subjects = examined.subjects
    if finding is Topic.MERGE:
        # It stays one suggestion when one of the memories that are to go has gone already.
        subjects = subjects[:1]
    if finding is Topic.NO_SUMMARY and isinstance(turn := examined.records[0], Turn):
        subjects, more = (), summary_id(turn.session, turn.repository, turn.user)
    return Suggestion(
        organization=organization,
        id=suggestion_id("pair" if is_pair else finding, subjects, more),
        finding=finding,
        certainty=round(examined.certainty, 3),
        subjects=examined.subjects,
        found_at=now,
        due=examined.due,
    )


_STANDING = frozenset({Status.ACTIVE, Status.UNVERIFIED, Status.VERIFIED, Status.DRAFT})
_MOST_EDGES = 500


def _may_change(memory: Memory) -> bool:
    """Tell whether a memory is one that may be changed at all, whoever asks."""
    is_system = memory.organization == SYSTEM_ORGANIZATION
    return memory.deleted_at is None and memory.locked_by is None and not is_system


def _stands(memory: Memory, now: datetime) -> bool:
    return memory.deleted_at is None and holds_at(memory, now)


def _place(memory: Memory) -> tuple[object, ...]:
    return memory.organization, memory.scope, memory.repository, memory.user
