"""Walks over a graph that is made for them, as the tests of ranks ask for them."""

from collections.abc import Mapping

from minutebook.text.pagerank import Edges, Graph


def personalized_pagerank(
    edges: Edges,
    seeds: Mapping[str, float],
    *,
    damping: float = 0.5,
    iterations: int = 15,
    tolerance: float = 1e-6,
) -> dict[str, float]:
    """Return each node's share of a walk with restarts at the seeds, divided by √degree; nodes are ends of edges, and seeds."""
    graph = Graph(edges, seeds)
    shares = graph.shares([seeds], damping, iterations, tolerance)[:, 0]
    return graph.by_node(shares / graph.root_of_degree)


def visits(
    edges: Edges, seeds: Mapping[str, float], *, damping: float, iterations: int, tolerance: float
) -> dict[str, float]:
    """Return how often a walk is at each node."""
    graph = Graph(edges, seeds)
    return graph.by_node(graph.shares([seeds], damping, iterations, tolerance)[:, 0])
