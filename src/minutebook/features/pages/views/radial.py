"""Place a tree around its root: rings for the steps from it, a sector for the children of each node."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP = 17.0
"""Pixels between two neighbours on a ring, at least: a line of text."""

LABEL = 170.0
"""Pixels between two rings: the length of a name."""

INNERMOST = 150.0
"""Pixels from the root to the first ring, at least."""

WIDEST = 2.2
"""Radians that one branch of the root takes at most, so that it stands on one side of it."""


@dataclass(frozen=True, slots=True)
class RadialPlace:
    """Where a thing stands: pixels right of and below the root, and its direction in degrees."""

    x: float
    y: float
    angle: float


def places(root: str, branches: Mapping[str, Sequence[str]]) -> dict[str, RadialPlace]:
    """Place a tree of `branches` (from each thing to those that hang on it) around its root.

    Where a ring is too short for all that stand on it they are staggered over several. Takes time in
    proportion to the tree; the same tree is placed the same way each time.
    """
    depths, order = _by_depth(root, branches)
    leaves = _leaves(order, branches)
    angles = _angles(root, branches, order, leaves)
    found = {root: RadialPlace(0.0, 0.0, 0.0)}
    base = 0.0
    for ring in depths[1:]:
        gaps = sorted(angles[each] for each in ring)
        narrowest = min((b - a for a, b in pairwise(gaps)), default=math.tau)
        density = 1.0 / max(narrowest, 1e-9)
        base = base + LABEL if base else max(INNERMOST, math.sqrt(GAP * LABEL * density / 2))
        rows = max(1, math.ceil(GAP * density / base))
        for number, each in enumerate(ring):
            radius, angle = base + LABEL * (number % rows), angles[each]
            x, y = radius * math.cos(angle), radius * math.sin(angle)
            found[each] = RadialPlace(round(x, 1), round(y, 1), round(math.degrees(angle), 1))
        base += LABEL * (rows - 1)
    return found


def _by_depth(
    root: str, branches: Mapping[str, Sequence[str]]
) -> tuple[list[list[str]], list[str]]:
    """Return the things ring by ring, and all of them from the root outwards."""
    rings, order = [[root]], [root]
    while ring := [each for above in rings[-1] for each in branches.get(above, ())]:
        rings.append(ring)
        order += ring
    return rings, order


def _leaves(order: Sequence[str], branches: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Count the leaves below each thing; a thing without branches is one leaf."""
    count: dict[str, int] = {}
    for each in reversed(order):
        hanging = branches.get(each)
        count[each] = sum(count[below] for below in hanging) if hanging else 1
    return count


def _angles(
    root: str,
    branches: Mapping[str, Sequence[str]],
    order: Sequence[str],
    leaves: Mapping[str, int],
) -> dict[str, float]:
    """Return for each thing the middle of its sector, which is as wide as its part of the leaves."""
    sectors = {root: (0.0, math.tau)}
    angles = {root: 0.0}
    for each in order:
        begin, width = sectors[each]
        for below in branches.get(each, ()):
            own = width * leaves[below] / leaves[each]
            narrow = min(own, WIDEST) if each == root else own
            middle = begin + own / 2
            angles[below], sectors[below] = middle, (middle - narrow / 2, narrow)
            begin += own
    return angles
