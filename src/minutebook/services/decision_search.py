"""Find what was decided: however an old text matched, the truth is what is given."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

from minutebook.domain.filters import Filter
from minutebook.domain.lineage import Seat, seat_of, truth
from minutebook.domain.policy import Caller
from minutebook.domain.records import Decision, DecisionStatus, Kind
from minutebook.search.ranking import Hit, Signal, fuse
from minutebook.search.text import TextQuery, parse_query
from minutebook.services.reach import filters
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store, Vectors

CANDIDATES = 50
"""How many each of the vector and the lexical signal propose."""

WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.7, Signal.LEXICAL: 0.3}

ACTIVE_BOOST = 1.0
PAST_FACTOR = 0.1


class Mode(StrEnum):
    """Which decisions a search gives."""

    STRICT = "strict"
    BALANCED = "balanced"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class FoundDecision:
    """A decision, its score, and the hit that led to it: its own, or that of `through`, its past."""

    decision: Decision
    score: float
    hit: Hit
    through: str | None = None


class DecisionSearch:
    """Ranks the decisions that the caller may see."""

    def __init__(self, store: Store, embedded: Embedded) -> None:
        self._store = store
        self._embedded = embedded

    def search(self, caller: Caller, query: str, mode: Mode, limit: int) -> list[FoundDecision]:
        """Rank decisions; EmbeddingNotReady while the model loads.

        `strict` gives only active ones, `balanced` the best of each target, active ones first,
        `audit` all with their true status. Outside of `audit` what was superseded stands for the
        truth that it led to.
        """
        vector, parsed = self._embedded.query_if_possible(query), parse_query(query)
        found: list[FoundDecision] = []
        for where in filters(self._store, caller):
            hits = self._hits(where, vector, parsed)
            decisions = self._read(where, [hit.id for hit in hits])
            for hit in hits:
                if (decision := decisions.get(hit.id)) is not None:
                    found += [_scored(decision, hit)]
                    if mode is not Mode.AUDIT:
                        found += self._led_to(where, decision, hit)
        if mode is not Mode.AUDIT:
            found = _best_of_each_seat(found)
        if mode is Mode.STRICT:
            found = [each for each in found if each.decision.status is DecisionStatus.ACTIVE]
        return sorted(found, key=lambda each: (-each.score, each.decision.id))[:limit]

    def _hits(self, where: Filter, vector: Vectors | None, query: TextQuery) -> list[Hit]:
        matched = self._store.match(Kind.DECISION, where, query, CANDIDATES)
        lexical = {each.id: each.score for each in matched}
        near: dict[str, float] = {}
        if vector is not None:
            near = self._nearest(where, vector, CANDIDATES)
            if missing := frozenset(lexical.keys() - near.keys()):
                near |= self._nearest(replace(where, ids=missing), vector, len(missing))
        return fuse({Signal.VECTOR: near, Signal.LEXICAL: lexical}, WEIGHTS, 2 * CANDIDATES)

    def _nearest(self, where: Filter, vector: Vectors, limit: int) -> dict[str, float]:
        space = self._embedded.space
        found = self._store.nearest(Kind.DECISION, where, space, vector, limit)
        return {each.id: each.score for each in found}

    def _read(self, where: Filter, ids: list[str]) -> dict[str, Decision]:
        kept = self._store.find(Kind.DECISION, replace(where, ids=frozenset(ids)))
        return {each.id: each for each in cast("list[Decision]", kept)}

    def _led_to(self, where: Filter, decision: Decision, hit: Hit) -> list[FoundDecision]:
        """Give the truth that a decision of the past led to, as near as that was."""
        if decision.status is not DecisionStatus.SUPERSEDED:
            return []

        def find(id: str) -> Decision | None:
            kept = self._store.get(Kind.DECISION, where.organization, id)
            return kept if isinstance(kept, Decision) and where.passes(kept) else None

        return [replace(_scored(end, hit), through=decision.id) for end in truth(decision, find)]


def _scored(decision: Decision, hit: Hit) -> FoundDecision:
    if decision.status is DecisionStatus.ACTIVE:
        return FoundDecision(decision, hit.score + ACTIVE_BOOST, hit)
    return FoundDecision(decision, hit.score * PAST_FACTOR, hit)


def _best_of_each_seat(found: list[FoundDecision]) -> list[FoundDecision]:
    """Keep the best of each target; of several active ones after a merge, each."""
    best: dict[tuple[Seat, str | None], FoundDecision] = {}
    for each in found:
        decision = each.decision
        active = decision.status is DecisionStatus.ACTIVE
        key = (seat_of(decision), decision.id if active else None)
        if key not in best or (each.score, decision.id) > (
            best[key].score,
            best[key].decision.id,
        ):
            best[key] = each
    decided = {seat for seat, id in best if id is not None}
    return [each for (seat, id), each in best.items() if id is not None or seat not in decided]
