"""Place a tree in columns left and right of its root, a row for each leaf, so that every name has room beside it."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROW = 26.0
"""Pixels between two leaves, one below the other: a line of text."""

COLUMN = 220.0
"""Pixels between two columns: the length of a name."""

INNERMOST = 130.0
"""Pixels from the root to the first column."""


@dataclass(frozen=True, slots=True)
class TreePlace:
    """Where a thing stands: pixels right of and below the root."""

    x: float
    y: float

    @property
    def side(self) -> int:
        """1 right of the root, -1 left of it: where its name stands, too."""
        return -1 if self.x < 0 else 1


def places(root: str, branches: Mapping[str, Sequence[str]]) -> dict[str, TreePlace]:
    """Place a tree of `branches` (from each thing to those that hang on it) around its root.

    Takes time in proportion to the tree; the same tree is placed the same way each time.
    """
    leaves = _leaves(root, branches)
    found = {root: TreePlace(0.0, 0.0)}
    kids_of: dict[int, list[str]] = {1: [], -1: []}
    heights = {1: 0, -1: 0}
    for each in branches.get(root, ()):
        side = min(heights, key=lambda side: heights[side])
        kids_of[side].append(each)
        heights[side] += leaves[each]
    for side, kids in kids_of.items():
        top = -heights[side] / 2
        waiting = deque([(kids, INNERMOST, top)])
        while waiting:
            below, x, top = waiting.popleft()
            for each in below:
                found[each] = TreePlace(side * x, round(ROW * (top + leaves[each] / 2), 1))
                waiting.append((list(branches.get(each, ())), x + COLUMN, top))
                top += leaves[each]
    return found


def _leaves(root: str, branches: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Count the leaves below each thing; a thing without branches is one leaf."""
    order = [root]
    for each in order:
        order += branches.get(each, ())
    count: dict[str, int] = {}
    for each in reversed(order):
        hanging = branches.get(each)
        count[each] = sum(count[below] for below in hanging) if hanging else 1
    return count
