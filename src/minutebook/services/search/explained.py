"""Say why each hit was found: the words that matched, the way through the graph, the neighbour."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter, visible_filter
from minutebook.domain.records import Decision, Edge, Entity, Memory, Proposal, Record
from minutebook.search.excerpt import excerpt, matched_words, sought_terms
from minutebook.search.fusion import Hit, Signal
from minutebook.search.text import words
from minutebook.search.verdict import Verdict, verdict_of_text
from minutebook.services.search.decisions import FoundDecision
from minutebook.services.search.recall import (
    WEIGHTS,
    Recall,
    Recalled,
    RecalledDecision,
    Selection,
)
from minutebook.services.search.signals import Key
from minutebook.store.protocol import Store

EXCERPT = 280
"""Characters of a hit's text that are shown."""

EDGES = 200
"""The most edges around the hits that are looked at for a way, the heaviest first."""

Part = tuple[str, bool]
"""A part of a text, and whether it matched the question."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step from a hit towards what the question names: an edge's type, and where it leads."""

    type: str
    record: Memory | Entity


@dataclass(frozen=True, slots=True)
class Explained:
    """A hit and why it was found.

    `words` are those of its text that match the question. `way` leads from it to an entity that the
    question names or to another hit; empty if the graph signal says nothing. `neighbour` is the hit
    of the same session that lifted it. `followed` are the decisions, now superseded, that led here.
    """

    record: Memory | Decision | Proposal
    hit: Hit[Key]
    details: Mapping[str, float]
    excerpt: tuple[Part, ...]
    words: tuple[str, ...]
    way: tuple[Step, ...] = ()
    neighbour: Memory | None = None
    followed: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """How well the hit answers."""
        return verdict_of_text(self.hit, self.details)


class ExplainedRecall:
    """Recalls memories and the decisions that hold, each hit with the reasons for it."""

    def __init__(self, store: Store, recall: Recall) -> None:
        self._store = store
        self._recall = recall

    def memories(
        self, caller: Caller, query: str, limit: int, selection: Selection
    ) -> list[Explained]:
        """Rank the selected memories, as `Recall.recall` does."""
        found = self._recall.recall(caller, query, limit, WEIGHTS, selection)
        return self._explained(caller, query, found.hits, [])

    def memories_and_decisions(self, caller: Caller, query: str, limit: int) -> list[Explained]:
        """Rank what holds now, memories and decisions together."""
        found = self._recall.recall_with_decisions(caller, query, limit, WEIGHTS)
        return self._explained(caller, query, found.hits, found.decisions)

    def decisions(self, query: str, found: Sequence[FoundDecision]) -> list[Explained]:
        """Say why decisions and proposals were found, in their order."""
        terms = sought_terms(query)
        return [
            Explained(
                each.record,
                each.hit,
                {},
                tuple(excerpt(each.record.rationale, terms, EXCERPT)),
                matched_words(each.record.text, terms),
                followed=each.followed,
            )
            for each in found
        ]

    def _explained(
        self,
        caller: Caller,
        query: str,
        recalled: Sequence[Recalled],
        decided: Sequence[RecalledDecision],
    ) -> list[Explained]:
        terms, ways = sought_terms(query), self._ways(caller, query, recalled)
        found = [
            Explained(
                each.memory,
                each.hit,
                each.details,
                tuple(excerpt(each.memory.content, terms, EXCERPT)),
                matched_words(each.memory.text, terms),
                ways.get(each.hit.id, ()),
                _neighbour(each, recalled),
            )
            for each in recalled
        ]
        found += [
            Explained(
                each.decision,
                each.hit,
                {},
                tuple(excerpt(each.decision.rationale, terms, EXCERPT)),
                matched_words(each.decision.text, terms),
                followed=each.followed,
            )
            for each in decided
        ]
        return sorted(found, key=lambda each: -each.hit.score)

    def _ways(
        self, caller: Caller, query: str, recalled: Sequence[Recalled]
    ) -> dict[Key, tuple[Step, ...]]:
        """Find for each hit that the graph speaks for the shortest way that the caller may see."""
        hits: defaultdict[str, dict[str, Memory]] = defaultdict(dict)
        for each in recalled:
            hits[each.memory.organization][each.memory.id] = each.memory
        ways: dict[Key, tuple[Step, ...]] = {}
        spoken_for = [each.memory for each in recalled if _graph_share(each.hit) > 0]
        for organization in {each.organization for each in spoken_for}:
            where = visible_filter(caller, organization)
            here = [each.id for each in spoken_for if each.organization == organization]
            named = set(self._store.entities_named(where, words(query)))
            nearest = self._steps(where, here)
            farther = self._steps(where, {id for steps in nearest.values() for id in steps})
            for id in here:
                goals = named or hits[organization].keys() - {id}
                if way := _way(id, goals, nearest, farther):
                    ways[organization, id] = way
        return ways

    def _steps(self, where: Filter, ids: Iterable[str]) -> dict[str, dict[str, Step]]:
        """Return, for each node, the steps along its edges that the caller may see, by id."""
        nodes = set(ids)
        edges = self._store.edges(where.organization, sorted(nodes), EDGES) if nodes else []
        seen = self._visible(where, edges)
        steps: defaultdict[str, dict[str, Step]] = defaultdict(dict)
        for edge in edges:
            for node, other in ((edge.source, edge.target), (edge.target, edge.source)):
                if node in nodes and (record := seen.get(other)) is not None:
                    steps[node][other] = Step(edge.type, record)
        return steps

    def _visible(self, where: Filter, edges: Sequence[Edge]) -> dict[str, Memory | Entity]:
        """Return what edges join and the caller may see, by id."""
        ends = {(each.class_of(id), id) for each in edges for id in (each.source, each.target)}

        def among(of: type[Record]) -> Filter:
            return replace(where, valid_at=None, ids=frozenset(id for k, id in ends if k is of))

        seen: dict[str, Memory | Entity] = {}
        seen |= {each.id: each for each in self._store.find(Memory, among(Memory))}
        seen |= {each.id: each for each in self._store.find(Entity, among(Entity))}
        return seen


def _way(
    id: str,
    goals: Iterable[str],
    nearest: Mapping[str, Mapping[str, Step]],
    farther: Mapping[str, Mapping[str, Step]],
) -> tuple[Step, ...]:
    """Return the steps from a hit to one of the goals, two at most; none if there is no such way."""
    wanted = set(goals)
    first = nearest.get(id, {})
    for reached in sorted(first):
        if reached in wanted:
            return (first[reached],)
    for reached in sorted(first):
        for end, step in sorted(farther.get(reached, {}).items()):
            if end in wanted and end != id:
                return (first[reached], step)
    return ()


def _graph_share(hit: Hit[Key]) -> float:
    return next((each.share for each in hit.shares if each.signal is Signal.GRAPH), 0.0)


def _neighbour(one: Recalled, recalled: Sequence[Recalled]) -> Memory | None:
    """Return the hit beside this one in its session, if context lifted it."""
    origin = one.memory.origin
    if "with context" not in one.details or origin is None or not origin.session:
        return None
    beside = [
        each.memory
        for each in recalled
        if each is not one
        and each.memory.organization == one.memory.organization
        and each.memory.origin is not None
        and each.memory.origin.session == origin.session
    ]
    at = one.memory.ingestion_time
    return min(beside, key=lambda each: abs(each.ingestion_time - at), default=None)
