"""The graph signal: it scores the memories to which entities, relations and links lead, by how well they answer."""

from collections.abc import Collection, Mapping, Sequence, Set
from heapq import nsmallest

from minutebook.memory.access.visibility import View
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.signals import Retriever, Signals
from minutebook.record.records import Entity, Memory, Record
from minutebook.store.values import Tie
from minutebook.text.calibration import relevance
from minutebook.text.pagerank import Graph
from minutebook.text.words import without_names, words

SEEDS = 5
"""How many of the best candidates the walk starts from."""

HOPS = 3
"""The steps of the walk: from a memory to an entity, to a related entity, to a memory that names that one."""

EDGES_A_HOP = 500
"""The most edges of one step, the heaviest first."""

NEARNESS_EXPONENT = 0.25
"""The exponent of a memory's nearness in its score: small, since its text decides."""

CERTAINTY_EXPONENT = 0.1
"""The exponent of the best memory's relevance in the scores of all."""

RELATIVE_EXPONENT = 2.0
"""The exponent, in a memory's score, of its strength relative to that of the best memory."""

LEAST_RANK = 1e-5
"""The rank up to which a memory counts as not reached: the walk ends before it settles."""


class GraphWalk:
    """Scores the memories joined to the entities that a question names and to its best candidates."""

    def __init__(self, embeddings: Embeddings, signals: Retriever) -> None:
        self._embeddings = embeddings
        self._signals = signals

    def add(self, view: View, query: str, named: Collection[str], found: Signals) -> int:
        """Add the graph signal, in [0, 1], of one organization; return the size of the graph walked.

        `named` are the ids of the entities that the question names.
        A memory that leads back only to itself gets no score. Measured in
        docs/decisions/0004-text-analysis-and-fusion.md.
        """
        scores = found.fused()
        best = nsmallest(SEEDS, scores, key=lambda key: (-scores[key], key))
        seeds = {key[1]: scores[key] for key in best}
        # What narrows the memories that are sought narrows neither entities nor the way.
        around = view.where(equal={}, client=None, since=None, until=None)
        # The entities that the question names weigh twice as much as the memories found.
        share = 2 * sum(seeds.values()) or 1.0
        starts = seeds | dict.fromkeys(named, share / max(1, len(named)))
        ties, walked = _subgraph(around, set(starts))
        if not ties:
            return 0
        graph = Graph([(tie.source, tie.target, tie.weight) for tie in ties])
        arrived = graph.arrivals(starts)
        joined = {id for id, rank in arrived.items() if rank > LEAST_RANK}
        visible = _visible(view, around, joined, walked | seeds.keys())
        ranks = {id: rank for id, rank in arrived.items() if id in visible}
        if named:
            by_meaning = found.vector is not None
            led = self._scores(view, query, named, ranks, by_meaning=by_meaning)
        else:
            # A walk from memories alone is as good as the best of those that it starts from.
            certainty = graph.best_joined(seeds)
            led = {id: certainty[id] ** 2 * nearness for id, nearness in _nearness(ranks).items()}
        found.graph = {(view.organization, id): score for id, score in led.items() if score > 0}
        return len({end for tie in ties for end in (tie.source, tie.target)})

    def _scores(
        self,
        view: View,
        query: str,
        named: Collection[str],
        ranks: Mapping[str, float],
        *,
        by_meaning: bool,
    ) -> dict[str, float]:
        """Return the scores of memories: the nearness of each times its match with the rest of the question."""
        rest = _without_names(view, query, named)
        matches = self._matches(view, rest, ranks) if by_meaning else dict.fromkeys(ranks, 1.0)
        return {id: nearness * matches.get(id, 0.0) for id, nearness in _nearness(ranks).items()}

    def _matches(self, view: View, query: str, ids: Collection[str]) -> dict[str, float]:
        """Score the answers of memories in [0, 1], relative to the best of them.

        The best has its relevance, raised to CERTAINTY_EXPONENT; another the part of it that its strength has of
        the best's, raised to RELATIVE_EXPONENT. All are 1 if no word is left to compare.
        """
        embedding = self._embeddings.embed_query(query) if words(query) else None
        if embedding is None or not ids:
            return dict.fromkeys(ids, 1.0)
        here = view.where(ids=frozenset(ids))
        found = self._signals.empty(embedding)
        found.vector = self._embeddings.nearest(Memory, here, embedding, len(ids))
        self._signals.compare(Memory, here, embedding, found)
        strengths = {key[1]: found.likeness(key) for key in found.vector or ()}
        best = max(strengths.values(), default=0.0)
        certainty = relevance(best) ** CERTAINTY_EXPONENT
        return {
            id: certainty * (each / best) ** RELATIVE_EXPONENT
            for id, each in strengths.items()
            if best
        }


def _without_names(view: View, query: str, named: Collection[str]) -> str:
    """Take the names of entities out of a question: they led here, and now the rest decides."""
    here = view.where(equal={}, client=None, ids=frozenset(named))
    names = [name for each in here.find(Entity) for name in (each.name, *each.aliases)]
    return without_names(query, names)


def _visible(view: View, around: View, ids: Set[str], walked: Set[str]) -> Set[str]:
    """Return which ids are those of memories that a selection holds.

    Of memories that were walked that is known, unless the selection is narrower than the graph walked.
    """
    if view == around and view.ids is None:
        return ids & walked
    return _seen(Memory, view, ids)


def _subgraph(view: View, start: set[str]) -> tuple[list[Tie], set[str]]:
    """Collect the edges around some nodes, none through nodes hidden from the caller.

    The walk passes through superseded memories, so that entities which they name lead to their successors.
    Also return the valid memories reached.
    """
    ties: dict[str, Tie] = {}
    reached, frontier, walked = set(start), set(start), set[str]()
    for _ in range(HOPS):
        if not frontier:
            break
        found = view.ties(sorted(frontier), EDGES_A_HOP)
        ends = _ends(found)
        memories = ends[Memory] - reached
        holding = _seen(Memory, view, memories)
        superseded = _superseded(view, memories - holding)
        entities = _seen(Entity, view, ends[Entity] - reached)
        passable = {Memory: holding | superseded, Entity: entities}
        walked |= holding
        following: set[str] = set()
        for tie in found:
            of, id, source, target, _, _ = tie
            first, second = of.joins
            if (source in reached or source in passable[first]) and (
                target in reached or target in passable[second]
            ):
                ties[id] = tie
                for end in (source, target):
                    if end not in reached:
                        following.add(end)
                        reached.add(end)
        frontier = following
    return [ties[id] for id in sorted(ties)], walked


def _seen(of: type[Record], view: View, ids: Set[str]) -> set[str]:
    return set(view.where(ids=frozenset(ids)).read_ids(of, ["id"])) if ids else set()


def _superseded(view: View, ids: Set[str]) -> set[str]:
    """Return the ids of superseded memories that the caller may see."""
    if not ids:
        return set()
    ever = view.where(ids=frozenset(ids), valid_at=None)
    rows = ever.values(Memory, ("id", "superseded_by"))
    return {id for id, successor in rows if successor is not None}


def _ends(ties: Sequence[Tie]) -> dict[type[Record], set[str]]:
    """Return the ends of edges by their class."""
    ends: dict[type[Record], set[str]] = {Memory: set(), Entity: set()}
    for of, _, source, target, _, _ in ties:
        first, second = of.joins
        ends[first].add(source)
        ends[second].add(target)
    return ends


def _nearness(ranks: Mapping[str, float]) -> dict[str, float]:
    """Scale the walk's rank of each memory into [0, 1], the nearest 1."""
    nearest = max(ranks.values(), default=1.0)
    return {id: (rank / nearest) ** NEARNESS_EXPONENT for id, rank in ranks.items()}
