"""Score the nodes of a small graph by how near they are to where a question points."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, sqrt
from typing import TypeAlias

import numpy as np

from minutebook.domain.errors import InvalidInput

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
    neighbours: dict[str, set[str]] = {}
    for one, other, _ in _walkable(edges):
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    shares = visits(edges, seeds, damping=damping, iterations=iterations, tolerance=tolerance)
    return {node: share / sqrt(len(neighbours.get(node, "1"))) for node, share in shares.items()}


def arrivals(edges: Edges, seeds: Mapping[str, float]) -> dict[str, float]:
    """Return the `personalized_pagerank` of each node that has edges, from other seeds than itself.

    Seeds that no edge joins are left out. Without them the walk from several seeds is the mean of the
    walks from each, so a seed's own part is taken away: where it starts, and what of that comes
    back. Raises as `visits`.
    """
    joined = {end for one, other, _ in _walkable(edges) for end in (one, other)}
    starts = {seed: weight for seed, weight in seeds.items() if seed in joined and weight > 0}
    total = sum(starts.values())
    ranks = personalized_pagerank(edges, starts)
    for seed, weight in starts.items():
        own = personalized_pagerank(edges, {seed: 1.0})[seed]
        ranks[seed] = max(0.0, ranks[seed] - weight / total * own)
    return ranks


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
    _check_weights("edges", (weight for _, _, weight in edges))
    _check_weights("seeds", seeds.values())
    walkable = _walkable(edges)
    nodes = sorted({end for one, other, _ in walkable for end in (one, other)} | seeds.keys())
    place = {node: number for number, node in enumerate(nodes)}
    start = np.array([seeds.get(node, 0.0) for node in nodes], dtype=np.float64)
    if not start.any():
        return dict.fromkeys(nodes, 0.0)
    start /= start.max()
    start /= start.sum()
    ends = np.array([(place[one], place[other]) for one, other, _ in walkable], dtype=np.intp)
    ends = ends.reshape(-1, 2)
    source, target = np.concatenate([ends, ends[:, ::-1]]).T
    weight = np.tile([weight for _, _, weight in walkable], 2)
    leaving = np.bincount(source, weight, len(nodes))
    following = weight / leaving[source]
    shares = start
    for _ in range(iterations):
        arriving = np.bincount(target, shares[source] * following, len(nodes))
        moved = arriving + shares[leaving == 0].sum() * start
        before, shares = shares, (1 - damping) * start + damping * moved
        if np.abs(shares - before).sum() < tolerance:
            break
    return dict(zip(nodes, shares.tolist(), strict=True))


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
