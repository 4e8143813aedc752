"""Say why each hit was found: the words that matched, the way through the graph, the neighbour."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter, visible_filter
from minutebook.domain.records import Decision, Entity, Memory, Proposal
from minutebook.search.excerpt import Part, excerpt_and_words, sought_terms
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
        return self._explained(caller, query, found.hits, [], found.hits)

    def memories_and_decisions(self, caller: Caller, query: str, limit: int) -> list[Explained]:
        """Rank what holds now, memories and decisions together."""
        return self.ranked(caller, query, limit, 0)[0]

    def ranked(
        self, caller: Caller, query: str, limit: int, further: int
    ) -> tuple[list[Explained], list[Key]]:
        """Rank as `memories_and_decisions`; return the best, and the keys of those and `further` ones."""
        found = self._recall.recall_with_decisions(caller, query, limit + further, WEIGHTS)
        ranked: list[Recalled | RecalledDecision] = [*found.hits, *found.decisions]
        by_score = sorted(ranked, key=lambda each: -each.hit.score)
        best = by_score[:limit]
        memories = [each for each in best if isinstance(each, Recalled)]
        decided = [each for each in best if isinstance(each, RecalledDecision)]
        hits = self._explained(caller, query, memories, decided, found.hits)
        return hits, [each.hit.id for each in by_score]

    def decisions(self, query: str, found: Sequence[FoundDecision]) -> list[Explained]:
        """Say why decisions and proposals were found, in their order."""
        terms = sought_terms(query)
        return [_explained_decision(each, terms) for each in found]

    def _explained(
        self,
        caller: Caller,
        query: str,
        recalled: Sequence[Recalled],
        decided: Sequence[RecalledDecision],
        among: Sequence[Recalled],
    ) -> list[Explained]:
        """Say of hits why they were found; `among` are all those of the same search."""
        terms, ways = sought_terms(query), self._ways(caller, query, recalled)
        found = []
        for each in recalled:
            said, words = excerpt_and_words(each.memory.content, each.memory.text, terms, EXCERPT)
            way, neighbour = ways.get(each.hit.id, ()), _neighbour(each, among)
            found.append(
                Explained(each.memory, each.hit, each.details, said, words, way, neighbour)
            )
        found += [_explained_decision(each, terms) for each in decided]
        return sorted(found, key=lambda each: -each.hit.score)

    def _ways(
        self, caller: Caller, query: str, recalled: Sequence[Recalled]
    ) -> dict[Key, tuple[Step, ...]]:
        """Find for each hit with a graph score the shortest way along edges that the caller may see."""
        hits: defaultdict[str, set[str]] = defaultdict(set)
        for each in recalled:
            hits[each.memory.organization].add(each.memory.id)
        ways: dict[Key, tuple[Step, ...]] = {}
        spoken_for = [each.memory for each in recalled if _graph_share(each.hit) > 0]
        for organization in {each.organization for each in spoken_for}:
            where = visible_filter(caller, organization)
            here = [each.id for each in spoken_for if each.organization == organization]
            named = set(self._store.entities_named(where, words(query)))
            nearest = self._edges(where, here)
            farther = self._edges(where, {id for edges in nearest.values() for id in edges})
            found = {
                id: way
                for id in here
                if (way := _way(id, named or hits[organization] - {id}, nearest, farther))
            }
            seen = self._read(where, {end for way in found.values() for _, end in way})
            for id, way in found.items():
                steps = tuple(Step(type, seen[end]) for type, end in way if end in seen)
                # What went meanwhile leaves no way.
                if len(steps) == len(way):
                    ways[organization, id] = steps
        return ways

    def _edges(self, where: Filter, ids: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return, for each node, the types of its edges that the caller may see, by where they lead."""
        nodes = set(ids)
        ties = self._store.ties(where.organization, sorted(nodes), EDGES) if nodes else []
        ends = {
            end for tie in ties for end in zip(tie.of.joins, (tie.source, tie.target), strict=True)
        }
        seen = {
            id
            for of in (Memory, Entity)
            for id in self._store.ids(of, _among(where, (e for k, e in ends if k is of)), ["id"])
        }
        types: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for tie in ties:
            for node, other in ((tie.source, tie.target), (tie.target, tie.source)):
                if node in nodes and other in seen:
                    types[node][other] = tie.type
        return types

    def _read(self, where: Filter, ids: Iterable[str]) -> dict[str, Memory | Entity]:
        """Return memories and entities by id."""
        here = _among(where, ids)
        seen: dict[str, Memory | Entity] = {}
        seen |= {each.id: each for each in self._store.find(Memory, here)}
        seen |= {each.id: each for each in self._store.find(Entity, here)}
        return seen


def _among(where: Filter, ids: Iterable[str]) -> Filter:
    return replace(where, valid_at=None, ids=frozenset(ids))


def _explained_decision(
    each: FoundDecision | RecalledDecision, terms: AbstractSet[str]
) -> Explained:
    record = each.record if isinstance(each, FoundDecision) else each.decision
    said, words = excerpt_and_words(record.rationale, record.text, terms, EXCERPT)
    return Explained(record, each.hit, {}, said, words, followed=each.followed)


def _way(
    id: str,
    goals: AbstractSet[str],
    nearest: Mapping[str, Mapping[str, str]],
    farther: Mapping[str, Mapping[str, str]],
) -> list[tuple[str, str]]:
    """Return the edges from a hit to one of the goals, two at most, each as its type and its end.

    Empty if there is no such way.
    """
    first = nearest.get(id, {})
    for reached in sorted(first):
        if reached in goals:
            return [(first[reached], reached)]
    for reached in sorted(first):
        for end, type in sorted(farther.get(reached, {}).items()):
            if end in goals and end != id:
                return [(first[reached], reached), (type, end)]
    return []


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
