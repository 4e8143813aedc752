"""Score the nodes of a small graph by how near they are to where a question points."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from minutebook.domain.errors import InvalidInput

Ranks: TypeAlias = npt.NDArray[np.float64]

Edges: TypeAlias = Sequence[tuple[str, str, float]]
"""Two ends and a weight each; the direction does not matter."""


def personalized_pagerank(
    edges: Edges,
    seeds: Mapping[str, float],
    *,
    damping: float = 0.5,
    iterations: int = 15,
    tolerance: float = 1e-6,
) -> dict[str, float]:
    """Return each node's share of a walk with restarts at the seeds, divided by √degree.

    Nodes are the ends of the edges, and the seeds. The degree is the number of neighbours, so that
    the scale of the weights does not matter; who has none counts as having one. Raises as `visits`.
    """
    walk = _Walk(edges, seeds)
    ranks = walk.ranks(seeds, damping=damping, iterations=iterations, tolerance=tolerance)
    return dict(zip(walk.nodes, ranks.tolist(), strict=True))


def arrivals(edges: Edges, seeds: Mapping[str, float]) -> dict[str, float]:
    """Return the `personalized_pagerank` of each node that has edges, from other seeds than itself.

    Seeds that no edge joins are left out. Without them the walk from several seeds is the mean of the
    walks from each, so a seed's own part is taken away: where it starts, and what of that comes
    back. Raises as `visits`.
    """
    walk = _Walk(edges, ())
    place = {node: number for number, node in enumerate(walk.nodes)}
    starts = {seed: weight for seed, weight in seeds.items() if seed in place and weight > 0}
    total = sum(starts.values())
    ranks = walk.ranks(starts)
    for seed, weight in starts.items():
        at = place[seed]
        ranks[at] = max(0.0, ranks[at] - weight / total * walk.ranks({seed: 1.0})[at])
    return dict(zip(walk.nodes, ranks.tolist(), strict=True))


def visits(
    edges: Edges, seeds: Mapping[str, float], *, damping: float, iterations: int, tolerance: float
) -> dict[str, float]:
    """Return how often a walk is at each node: shares that sum to 1, or to 0 without any seed.

    With probability `damping` the walk follows an edge, in proportion to its weight, else it starts
    again at a seed, as it does where no edge leads away. Parallel edges add; loops and edges of
    weight zero are as if absent. It ends after `iterations`, or once the shares change by less
    than `tolerance` in all. A weight negative or not finite: InvalidInput. Source: Page, Brin,
    Motwani, Winograd, *The PageRank Citation Ranking* (1999), section 6.
    """
    walk = _Walk(edges, seeds)
    shares = walk.shares(seeds, damping, iterations, tolerance)
    return dict(zip(walk.nodes, shares.tolist(), strict=True))


class _Walk:
    """A graph that is made ready once and walked from several seeds.

    `nodes` are the ends of the edges and the seeds, sorted; what is returned of them is in their order.
    """

    def __init__(self, edges: Edges, seeds: Iterable[str]) -> None:
        """Make the edges ready. Raises InvalidInput for a weight that is negative or not finite."""
        _check_weights("edges", (weight for _, _, weight in edges))
        walkable = _walkable(edges)
        self.nodes = sorted({end for one, other, _ in walkable for end in (one, other)} | {*seeds})
        place = {node: number for number, node in enumerate(self.nodes)}
        ends = np.array([(place[one], place[other]) for one, other, _ in walkable], dtype=np.intp)
        ends = ends.reshape(-1, 2)
        self._source, self._target = np.concatenate([ends, ends[:, ::-1]]).T
        weight = np.tile([weight for _, _, weight in walkable], 2)
        self._leaving = np.bincount(self._source, weight, len(self.nodes))
        self._following = weight / self._leaving[self._source]
        neighbours = np.bincount(np.unique(ends, axis=0).ravel(), minlength=len(self.nodes))
        self._root_of_degree = np.sqrt(np.maximum(neighbours, 1))

    def ranks(
        self,
        seeds: Mapping[str, float],
        *,
        damping: float = 0.5,
        iterations: int = 15,
        tolerance: float = 1e-6,
    ) -> Ranks:
        """Return the `personalized_pagerank` of each node. Raises as `visits`."""
        return self.shares(seeds, damping, iterations, tolerance) / self._root_of_degree

    def shares(
        self, seeds: Mapping[str, float], damping: float, iterations: int, tolerance: float
    ) -> Ranks:
        """Return how often the walk is at each node. Raises as `visits`."""
        _check_weights("seeds", seeds.values())
        start = np.array([seeds.get(node, 0.0) for node in self.nodes], dtype=np.float64)
        if not start.any():
            return start
        start /= start.max()
        start /= start.sum()
        is_dead_end = self._leaving == 0
        shares = start
        for _ in range(iterations):
            going = shares[self._source] * self._following
            arriving = np.bincount(self._target, going, len(self.nodes))
            moved = arriving + shares[is_dead_end].sum() * start
            before, shares = shares, (1 - damping) * start + damping * moved
            if np.abs(shares - before).sum() < tolerance:
                break
        return shares


def _walkable(edges: Edges) -> list[tuple[str, str, float]]:
    """Return the edges that a walk can follow, sorted, their weights scaled to 1 at most."""
    kept = sorted(
        (min(one, other), max(one, other), weight)
        for one, other, weight in edges
        if weight > 0 and one != other
    )
    heaviest = max((weight for _, _, weight in kept), default=1.0)
    scaled = ((one, other, weight / heaviest) for one, other, weight in kept)
    return [edge for edge in scaled if edge[2] > 0]


def _check_weights(argument: str, weights: Iterable[float]) -> None:
    for weight in weights:
        if not (isfinite(weight) and weight >= 0):
            raise InvalidInput(argument, f"weights of zero or more, not {weight}")
