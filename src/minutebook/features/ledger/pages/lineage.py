"""Draw a chain of decisions, each to the right of those that it superseded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.record.records import Decision

WIDTH, HEIGHT = 190, 54
"""Pixels of a decision in the drawing."""

ACROSS, DOWN = 60, 18
"""Pixels between two of them."""

_LINE = 26
"""Characters of a title that stand in one of its two lines."""


@dataclass(frozen=True, slots=True)
class Box:
    """A decision in the drawing: its corner, in pixels, and its title in two lines at most."""

    decision: Decision
    x: int
    y: int
    lines: tuple[str, ...]
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes, the arrows from each to the one that superseded it, and the size of the whole in pixels."""

    boxes: list[Box]
    arrows: list[tuple[Box, Box]]
    width: int
    height: int


def drawing(chain: Sequence[Decision]) -> Drawing | None:
    """Place decisions, each to the right of those that it supersedes; None if none supersedes another."""
    by_age = sorted(chain, key=lambda each: (each.created_at, each.id))
    column: dict[str, int] = {}
    rows: Counter[int] = Counter()
    boxes: dict[str, Box] = {}
    for each in by_age:
        superseded = [column[id] for id in each.supersedes if id in column]
        own = column[each.id] = 1 + max(superseded, default=-1)
        x, y = own * (WIDTH + ACROSS), rows[own] * (HEIGHT + DOWN)
        rows[own] += 1
        boxes[each.id] = Box(each, x, y, _lines(each.title))
    arrows = [
        (boxes[id], box)
        for box in boxes.values()
        for id in box.decision.supersedes
        if id in boxes and boxes[id].x < box.x
    ]
    if not arrows:
        return None
    return Drawing(
        list(boxes.values()),
        arrows,
        max(box.x for box in boxes.values()) + WIDTH,
        max(box.y for box in boxes.values()) + HEIGHT,
    )


def _lines(title: str) -> tuple[str, ...]:
    """Break a title into two lines at a space, where it has one; the rest is cut off."""
    words = " ".join(title.split())
    if len(words) <= _LINE:
        return (words,)
    cut = words.rfind(" ", 1, _LINE + 1)
    cut = cut if cut > 0 else _LINE
    rest = words[cut:].strip()
    return words[:cut], rest if len(rest) <= _LINE else rest[: _LINE - 1].rstrip() + "…"
