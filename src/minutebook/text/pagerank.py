"""Score the nodes of a small graph by random walks from seed nodes, and find communities of nodes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from minutebook.record.errors import InvalidInput

ROUNDS = 30
"""The most rounds of label propagation: enough for any graph to settle in practice; some never settle."""


def communities(edges: Sequence[tuple[str, str, float]]) -> list[list[str]]:
    """Return the communities of a graph of undirected edges (node, node, weight): sorted lists of nodes, sorted.

    Weighted label propagation (Raghavan, Albert, Kumara 2007): every node takes the label that
    weighs most among its neighbours. Nodes take turns in order of name and ties go to the smallest
    label, so that the same graph always gives the same groups.
    """
    neighbours: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for source, target, weight in edges:
        if source != target and weight > 0:
            neighbours[source][target] += weight
            neighbours[target][source] += weight
    label = {node: node for node in sorted(neighbours)}
    for _ in range(ROUNDS):
        settled = True
        for node in label:
            weights: dict[str, float] = defaultdict(float)
            for other, weight in neighbours[node].items():
                weights[label[other]] += weight
            best = min(weights, key=lambda name: (-weights[name], name))
            if weights[best] > weights.get(label[node], 0.0):
                label[node], settled = best, False
        if settled:
            break
    groups: dict[str, list[str]] = defaultdict(list)
    for node, name in label.items():
        groups[name].append(node)
    return sorted(groups.values())


Ranks: TypeAlias = npt.NDArray[np.float64]

Edges: TypeAlias = Sequence[tuple[str, str, float]]
"""Undirected edges: (node, node, weight)."""


class Graph:
    """A graph of weighted, undirected edges, for random walks from several seeds at once.

    `nodes` has the sorted names of the nodes: the ends of the edges, and `also`. Arrays over the nodes are in its order;
    `root_of_degree`, (nodes,), is the square root of each node's number of neighbours, at least 1.
    """

    def __init__(self, edges: Edges, also: Iterable[str] = ()) -> None:
        """Build the graph; `also` names nodes that may have no edge. Raises InvalidInput if a weight is negative or not finite."""
        _check_weights("edges", (weight for _, _, weight in edges))
        heaviest = max((weight for one, other, weight in edges if one != other), default=0.0) or 1.0
        walkable = [
            (one, other, weight / heaviest)
            for one, other, weight in edges
            if weight / heaviest > 0 and one != other
        ]
        named = {*also, *(one for one, _, _ in walkable), *(other for _, other, _ in walkable)}
        self.nodes = sorted(named)
        self._place = {node: number for number, node in enumerate(self.nodes)}
        ones = [self._place[one] for one, _, _ in walkable]
        others = [self._place[other] for _, other, _ in walkable]
        source = np.array(ones + others, dtype=np.intp)
        target = np.array(others + ones, dtype=np.intp)
        weight = np.tile(np.array([weight for _, _, weight in walkable], np.float64), 2)
        # Sorted, so that sums do not depend on the order in which edges are given.
        order = np.lexsort((weight, source, target))
        self._source, target, weight = source[order], target[order], weight[order]
        self._reached, self._first = np.unique(target, return_index=True)
        self._leaving = np.bincount(self._source, weight, len(self.nodes))
        self._following = (weight / self._leaving[self._source])[:, None]
        pairs = np.unique(target * len(self.nodes) + self._source) // max(1, len(self.nodes))
        neighbours = np.bincount(pairs, minlength=len(self.nodes))
        self.root_of_degree: Ranks = np.sqrt(np.maximum(neighbours, 1))

    def by_node(self, ranks: Ranks) -> dict[str, float]:
        """Return the values of an array (nodes,) by the names of the nodes."""
        return dict(zip(self.nodes, ranks.tolist(), strict=True))

    def arrivals(self, seeds: Mapping[str, float]) -> dict[str, float]:
        """Return for each node how often walks from the seeds other than itself are there, divided by √degree.

        `seeds` are nodes with weights. Each seed has a walk of its own, with restarts, and the result is their weighted
        mean; what the walk of a seed spends at that seed does not count. The degree is the number of neighbours, so that
        the scale of the edges' weights does not matter. Seeds that are no nodes, or weigh 0, are ignored.
        Raises InvalidInput if a weight is negative or not finite.
        """
        _check_weights("seeds", seeds.values())
        starts = {id: weight for id, weight in seeds.items() if id in self._place and weight > 0}
        if not starts:
            return dict.fromkeys(self.nodes, 0.0)
        walks = self.shares([{seed: 1.0} for seed in starts])
        for number, seed in enumerate(starts):
            walks[self._place[seed], number] = 0.0
        weights = np.array(list(starts.values()), dtype=np.float64)
        return self.by_node(walks @ (weights / weights.sum()) / self.root_of_degree)

    def best_joined(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return for each node the best score within its connected component, itself included; a node without a score has 0."""
        best = np.array([scores.get(node, 0.0) for node in self.nodes], dtype=np.float64)
        while len(self._first):
            before = best.copy()
            neighbours = np.maximum.reduceat(best[self._source], self._first)
            best[self._reached] = np.maximum(best[self._reached], neighbours)
            if np.array_equal(before, best):
                break
        return self.by_node(best)

    def shares(
        self,
        walks: Sequence[Mapping[str, float]],
        damping: float = 0.5,
        iterations: int = 15,
        tolerance: float = 1e-6,
    ) -> Ranks:
        """Return the share of time that random walks spend at each node, (nodes, walks).

        Each walk is given by the weights of its seeds. Its column sums to 1, or to 0 if no seed weighs anything. With
        probability `damping` a walk follows an edge, in proportion to its weight; else, and where no edge leads away, it
        starts again at a seed. Parallel edges add up; loops and edges of weight zero are ignored. The computation ends
        after `iterations`, or once the shares of each walk change by less than `tolerance` in sum. Raises InvalidInput if
        a weight is negative or not finite, and KeyError if a seed is no node.
        Source: Page, Brin, Motwani, Winograd, *The PageRank Citation Ranking* (1999), section 6.
        """
        start = np.stack([self._start(seeds) for seeds in walks], axis=1)
        is_dead_end = self._leaving == 0
        shares = start
        for _ in range(iterations):
            arriving = np.zeros_like(start)
            if len(self._first):
                going = shares[self._source] * self._following
                arriving[self._reached] = np.add.reduceat(going, self._first)
            moved = arriving + shares[is_dead_end].sum(axis=0) * start
            before, shares = shares, (1 - damping) * start + damping * moved
            if np.abs(shares - before).sum(axis=0).max() < tolerance:
                break
        return shares

    def _start(self, seeds: Mapping[str, float]) -> Ranks:
        """Return where a walk starts: the weights of its seeds, scaled to sum 1, (nodes,); zeros if none weighs anything."""
        _check_weights("seeds", seeds.values())
        start = np.zeros(len(self.nodes))
        for seed, weight in seeds.items():
            start[self._place[seed]] = weight
        if start.any():
            start /= start.max()
            start /= start.sum()
        return start


def _check_weights(argument: str, weights: Iterable[float]) -> None:
    """Raise InvalidInput for `argument` if a weight is negative or not finite."""
    for weight in weights:
        if not (isfinite(weight) and weight >= 0):
            raise InvalidInput(argument, "weights of zero or more, not {given}", given=weight)
