"""Answer a question as another caller would get it, and list the records left out, with reasons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from minutebook.domain import policy
from minutebook.domain.caller import Caller, Note, in_call
from minutebook.domain.filters import sees
from minutebook.domain.records import (
    Decision,
    DecisionStatus,
    Kind,
    Memory,
    Proposal,
    ProposalStatus,
    Record,
    Role,
    Status,
)
from minutebook.domain.sources import TEXTS
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.features.pages.explained import Explained, ExplainedRecall
from minutebook.search.fusion import TEXT_WEIGHTS, FusedHit, fuse
from minutebook.search.text import parse_query
from minutebook.search.verdict import Verdict, verdict_of
from minutebook.services.access.audit import EVERYTHING
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.search.signals import Key, Retriever

PROPOSED = 50
"""How many of all memories, ended ones too, each signal proposes of what may have been left out."""

LEFT_OUT = 20
"""How many of those are named, the nearest to the question."""

DECISIONS = 5
"""How many decisions and proposals are named beside them."""


class Absence(StrEnum):
    """Why a record is not among the hits."""

    OUT_OF_SCOPE = "out of scope"
    SUPERSEDED = "superseded"
    DEPRECATED = "deprecated"
    ENDED = "ended"
    NOT_YET = "not yet"
    WITHDRAWN = "withdrawn"
    PROPOSED = "proposed"
    SETTLED = "settled"
    BELOW_THE_CUT = "below the cut"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that the question could have found: why it did not, and its signals.

    `place` is its place in the ranking, if it has one, counted from 1. `successor` is what took its
    place, if the asker may see that.
    """

    record: Memory | Decision | Proposal
    why: Absence
    hit: FusedHit[Key]
    relevance: float
    place: int | None = None
    successor: Memory | None = None

    @property
    def verdict(self) -> Verdict:
        """How well it would have answered."""
        return verdict_of(self.relevance)


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """A caller's hits for a question, the hits hidden from them, and the notes that they are given."""

    hits: list[Explained]
    left_out: list[LeftOut]
    notes: Mapping[str, Note]


class Viewpoints:
    """Looks at search through a caller's eyes."""

    def __init__(
        self, infrastructure: Infrastructure, explained: ExplainedRecall, decisions: DecisionSearch
    ) -> None:
        self._store = infrastructure.records
        self._explained = explained
        self._decisions = decisions
        self._retriever = Retriever(infrastructure.records, infrastructure.embeddings)
        self._trail = infrastructure.trail
        self._clock = infrastructure.clock

    def other(
        self,
        caller: Caller,
        role: Role,
        organization: str | None = None,
        repository: str | None = None,
        user: str | None = None,
    ) -> Caller:
        """Return the caller with the eyes to look through; None leaves a scope as the asker's is.

        Raises Forbidden, audited, to all but the owner and admins of a whole organization,
        ScopeViolation for a scope that is not the asker's: nobody sees more by another's eyes.
        """
        with self._trail.audit_refusals(caller, None, "look as", Kind.MEMORY, EVERYTHING):
            policy.check_may_look_as(caller)
            narrowed = policy.narrowed_to(
                caller, organization=organization, repository=repository, user=user
            )
        return replace(narrowed, role=role)

    def ask(self, caller: Caller, other: Caller, query: str, limit: int) -> Viewpoint:
        """Answer a question as the other caller gets it; the asker is also told the hits hidden from them.

        Of what was left out the asker hears only what they may see themselves.
        """
        # The notes are the other caller's; those of the asker's own searches are not shown.
        other, asker = in_call(other, notes={}), in_call(caller, notes={})
        hits, ranked = self._explained.recall(other, query, limit, TEXTS)
        found = {_key(each.record) for each in hits}
        places = {key: at for at, key in enumerate(ranked, start=1)}
        left_out = [
            *self._memories(asker, other, query, found, places),
            *self._decided(asker, other, query, found, places),
        ]
        left_out.sort(key=lambda each: (-each.hit.score, each.record.id))
        return Viewpoint(hits, left_out, other.call.notes)

    def why_absent(self, other: Caller, record: Memory | Decision | Proposal) -> Absence:
        """Say why a record that the asker sees is not among another caller's hits."""
        if not sees(other, record):
            return Absence.OUT_OF_SCOPE
        if isinstance(record, Memory):
            return _absence_of(record, self._clock())
        if isinstance(record, Proposal):
            is_pending = record.status is ProposalStatus.PENDING
            return Absence.PROPOSED if is_pending else Absence.SETTLED
        return _OF_DECISIONS.get(record.status, Absence.BELOW_THE_CUT)

    def _memories(
        self,
        caller: Caller,
        other: Caller,
        query: str,
        found: set[Key],
        places: Mapping[Key, int],
    ) -> Iterable[LeftOut]:
        """Name the memories, also those that ended, that are near the question and were not found."""
        embedding = self._retriever.embed(query, caller, Memory)
        views = list(self._store.seen_by(caller))
        signals = self._retriever.gather(Memory, views, embedding, parse_query(query), PROPOSED)
        judged = self._retriever.judged(query, signals, {Memory: views})
        signals.keep(signals.keys() - found)
        hits: Sequence[FusedHit[Key]] = fuse(
            signals.found(), TEXT_WEIGHTS, LEFT_OUT, signals.strengths()
        )
        records = self._retriever.read(Memory, views, [hit.id for hit in hits])
        for hit in hits:
            if (memory := records.get(hit.id)) is not None:
                why = self.why_absent(other, memory)
                successor = self._successor(caller, memory)
                place, relevance = places.get(hit.id), judged.relevance(hit.id)
                yield LeftOut(memory, why, hit, relevance, place, successor)

    def _decided(
        self,
        caller: Caller,
        other: Caller,
        query: str,
        found: set[Key],
        places: Mapping[Key, int],
    ) -> Iterable[LeftOut]:
        near = self._decisions.search(caller, query, DecisionMode.AUDIT, DECISIONS)
        for each in near:
            key = _key(each.record)
            if key not in found:
                why = self.why_absent(other, each.record)
                yield LeftOut(each.record, why, each.hit, each.relevance, places.get(key))

    def _successor(self, caller: Caller, memory: Memory) -> Memory | None:
        if memory.superseded_by is None:
            return None
        return self._store.seen_in(memory.organization, caller).get(Memory, memory.superseded_by)


_OF_DECISIONS = {
    DecisionStatus.SUPERSEDED: Absence.SUPERSEDED,
    DecisionStatus.WITHDRAWN: Absence.WITHDRAWN,
}


def _absence_of(memory: Memory, now: datetime) -> Absence:
    if now < memory.valid_from:
        return Absence.NOT_YET
    if memory.valid_until is None or now < memory.valid_until:
        return Absence.BELOW_THE_CUT
    if memory.superseded_by is not None:
        return Absence.SUPERSEDED
    return Absence.DEPRECATED if memory.status is Status.DEPRECATED else Absence.ENDED


def _key(record: Record) -> Key:
    return record.organization, record.id
