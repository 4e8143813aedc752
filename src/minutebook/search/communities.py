"""Groups of nodes that are more densely joined to one another than to the rest."""

from collections import defaultdict
from collections.abc import Sequence

ROUNDS = 30
"""Enough for any graph to settle in practice; the bound keeps a see-saw from going on."""


def communities(edges: Sequence[tuple[str, str, float]]) -> list[list[str]]:
    """Group the ends of undirected weighted edges, each group and the list of groups sorted.

    Weighted label propagation (Raghavan, Albert, Kumara 2007): every node takes the label that
    weighs most among its neighbours; here in order of name, ties to the smallest label, so that
    the same graph always gives the same groups.
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
