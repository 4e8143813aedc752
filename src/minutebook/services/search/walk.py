"""The graph signal: which memories entities, relations and links lead to, and which of them answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from statistics import median

from minutebook.domain.filters import Filter
from minutebook.domain.records import Edge, Entity, Memory, Record
from minutebook.search.calibration import relevance
from minutebook.search.pagerank import arrivals
from minutebook.search.text import without_names, words
from minutebook.services.embeddings import Embeddings
from minutebook.services.search.signals import Retriever, Signals
from minutebook.store.protocol import Store

SEEDS = 5
"""How many of the best candidates the walk starts from."""

HOPS = 3
"""From a memory to an entity, to a related entity, to a memory that names that one."""

EDGES_A_HOP = 500
"""The widest that one hop may spread; the heaviest edges come first."""

NEARNESS_EXPONENT = 0.25
"""How much less a memory counts that is farther away: little, since what it says decides."""

CERTAINTY_EXPONENT = 0.1
"""How much less the graph counts where the best of what it leads to answers the question less well."""

LEAST_RANK = 1e-5
"""What the walk's end before it settles leaves to a memory that nothing leads to."""


class GraphWalk:
    """Scores the memories that are joined to what a question names and to its best candidates."""

    def __init__(self, store: Store, embeddings: Embeddings, signals: Retriever) -> None:
        self._store = store
        self._embeddings = embeddings
        self._signals = signals

    def add(self, where: Filter, query: str, found: Signals) -> int:
        """Add the graph signal, in [0, 1], of one organization; return the size of the graph walked.

        Where a memory leads back only to itself it gets nothing. Measured in
        docs/decisions/0004-text-analysis-and-fusion.md.
        """
        scores = found.fused()
        best = nsmallest(SEEDS, scores, key=lambda key: (-scores[key], key))
        seeds = {key[1]: scores[key] for key in best}
        # What narrows the memories that are sought narrows neither entities nor the way.
        around = replace(where, equal={}, client=None, since=None, until=None)
        named = self._store.entities_named(replace(around, valid_at=None), words(query))
        # What the question names says twice as much about where to look as what was found.
        share = 2 * sum(seeds.values()) or 1.0
        starts = seeds | dict.fromkeys(named, share / max(1, len(named)))
        edges = self._subgraph(around, set(starts))
        if not edges:
            return 0
        arrived = arrivals([(e.source, e.target, e.weight) for e in edges], starts)
        near = frozenset(id for id, rank in arrived.items() if rank > LEAST_RANK)
        visible = set(self._store.ids(Memory, replace(where, ids=near), ["id"])) if near else set()
        ranks = {id: rank for id, rank in arrived.items() if id in visible}
        if named:
            by_meaning = found.vector is not None
            led = self._scores(where, query, named, ranks, by_meaning=by_meaning)
        else:
            # A walk from memories alone is as good as the best of those that it starts from.
            certainty = _best_of_component(edges, seeds)
            led = {id: certainty[id] ** 2 * near for id, near in _nearness(ranks).items()}
        found.graph = {(where.organization, id): score for id, score in led.items() if score > 0}
        return len({end for e in edges for end in (e.source, e.target)})

    def _scores(
        self,
        where: Filter,
        query: str,
        named: Collection[str],
        ranks: Mapping[str, float],
        *,
        by_meaning: bool,
    ) -> dict[str, float]:
        """Multiply how near each memory is with how well it answers the rest of the question."""
        rest = self._without_names(where, query, named)
        matches = self._matches(where, rest, ranks) if by_meaning else dict.fromkeys(ranks, 1.0)
        return {id: near * matches.get(id, 0.0) for id, near in _nearness(ranks).items()}

    def _without_names(self, where: Filter, query: str, named: Collection[str]) -> str:
        """Take the names of entities out of a question: they led here, and now the rest decides."""
        entities = [self._store.get(Entity, where.organization, id) for id in named]
        names = [name for each in entities if each for name in (each.name, *each.aliases)]
        return without_names(query, names)

    def _matches(self, where: Filter, query: str, ids: Collection[str]) -> dict[str, float]:
        """Score how well memories answer, in [0, 1], beside one another: the lower half 0.

        The best has its relevance, raised to CERTAINTY_EXPONENT. All are 1 if no word is left to compare.
        """
        embedding = self._embeddings.embed_query(query) if words(query) else None
        if embedding is None or not ids:
            return dict.fromkeys(ids, 1.0)
        here = replace(where, ids=frozenset(ids))
        found = self._signals.compared(Memory, here, embedding, len(ids))
        strengths = {key[1]: found.likeness(key) for key in found.vector or ()}
        best, middle = max(strengths.values(), default=0.0), median(strengths.values() or [0.0])
        certainty = relevance(best) ** CERTAINTY_EXPONENT
        if best <= middle:
            return dict.fromkeys(ids, certainty)
        return {
            id: certainty * max(0.0, (each - middle) / (best - middle))
            for id, each in strengths.items()
        }

    def _subgraph(self, where: Filter, start: set[str]) -> list[Edge]:
        """Collect the edges around some nodes, none through what the caller may not see.

        What was superseded is walked through, so that what it named leads to its successor.
        """
        edges: dict[str, Edge] = {}
        reached, frontier = set(start), set(start)
        for _ in range(HOPS):
            if not frontier:
                break
            following: set[str] = set()
            found = self._store.edges(where.organization, sorted(frontier), EDGES_A_HOP)
            passable = self._passable(where, found, reached)
            for edge in found:
                ends = {edge.source, edge.target} - reached
                if all((edge.class_of(end), end) in passable for end in ends):
                    edges[edge.id] = edge
                    following |= ends
                    reached |= ends
            frontier = following
        return [edges[id] for id in sorted(edges)]

    def _passable(
        self, where: Filter, edges: Sequence[Edge], reached: Collection[str]
    ) -> set[tuple[type[Record], str]]:
        """Return the ends of edges that lead on: what the caller may see, as far as it holds or has a successor."""
        ends = {(each.class_of(id), id) for each in edges for id in (each.source, each.target)}
        passable: set[tuple[type[Record], str]] = set()
        for of in {of for of, _ in ends}:
            here = replace(
                where, ids=frozenset(id for kind, id in ends if kind is of) - set(reached)
            )
            if here.ids:
                passable |= {(of, id) for id in self._store.ids(of, here, ["id"])}
                if of is Memory:
                    ever = replace(here, valid_at=None)
                    rows = self._store.values(Memory, ever, ("id", "superseded_by"))
                    passable |= {(of, id) for id, successor in rows if successor is not None}
        return passable


def _nearness(ranks: Mapping[str, float]) -> dict[str, float]:
    """Scale what the walk brings to each memory into [0, 1], the nearest 1."""
    nearest = max(ranks.values(), default=1.0)
    return {id: (rank / nearest) ** NEARNESS_EXPONENT for id, rank in ranks.items()}


def _best_of_component(edges: Sequence[Edge], scores: Mapping[str, float]) -> dict[str, float]:
    """Return for each end of the edges the best score among all that it is joined to, itself included."""
    neighbours: dict[str, list[str]] = {}
    for edge in edges:
        neighbours.setdefault(edge.source, []).append(edge.target)
        neighbours.setdefault(edge.target, []).append(edge.source)
    best: dict[str, float] = {}
    for start in sorted(neighbours, key=lambda end: -scores.get(end, 0.0)):
        if start in best:
            continue
        best[start], frontier = scores.get(start, 0.0), [start]
        while frontier:
            reached = [id for id in neighbours[frontier.pop()] if id not in best]
            best.update(dict.fromkeys(reached, best[start]))
            frontier += reached
    return best
