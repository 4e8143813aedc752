"""Fit the numbers by which a text is told to revise another: `python -m benchmarks.fit_revisions`.

It learns from sentences made of `revision_frames.toml`, from the part `learn` of `revisions.jsonl`, and from pairs of
unrelated notes, and prints how well the other part is told. `--write` puts the numbers into
`minutebook/language/revision_weights.toml`.
"""

import json
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
LABELLED, FRAMES, NOTES = (
    HERE / "revisions.jsonl",
    HERE / "revision_frames.toml",
    HERE / "notes.jsonl",
)


@dataclass(frozen=True)
class Pair:
    """An older and a newer text, whether the newer revises the older, and what it weighs."""

    older: str
    newer: str
    revises: bool
    source: str
    language: str = ""


def labelled(part: str) -> list[dict[str, Any]]:
    """Read the labelled pairs of a part."""
    read = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return [each for each in read if each["part"] == part]


def made(each_way: int, seed: int = 7) -> Iterator[Pair]:
    """Make pairs of the frames of each relation: `each_way` that revise and as many that do not."""
    chance = random.Random(seed)
    for language, relations in tomllib.loads(FRAMES.read_text(encoding="utf-8")).items():
        for relation in relations:
            for _ in range(each_way):
                yield Pair(*_revising(relation, chance), True, "made", language)
                yield Pair(*_alike(relation, chance), False, "made", language)


def _said(relation: dict[str, Any], frame: str, s: str, v: str) -> str:
    text = frame.replace("{s}", s).replace("{S}", s[:1].upper() + s[1:]).replace("{v}", v)
    return text[:1].upper() + text[1:]


def _revising(relation: dict[str, Any], chance: random.Random) -> tuple[str, str]:
    s = chance.choice(relation["s"])
    if "denied" in relation:
        v = chance.choice(relation["v"])
        sides = [chance.choice(relation["frames"]), chance.choice(relation["denied"])]
        chance.shuffle(sides)
        return tuple(_said(relation, each, s, v) for each in sides)  # type: ignore[return-value]
    old, new = chance.sample(relation["v"], 2)
    frames = relation["frames"] + relation["details"]
    one, other = chance.choice(frames), chance.choice(frames)
    if chance.random() < 0.3:
        other = one
    return _said(relation, one, s, old), _said(relation, other, s, new)


def _alike(relation: dict[str, Any], chance: random.Random) -> tuple[str, str]:
    one, two = chance.sample(relation["s"], 2)
    values = relation["v"]
    old = chance.choice(values)
    new = chance.choice([each for each in values if each != old] or values)
    first = chance.choice(relation["frames"])
    way = chance.random()
    if way < 0.55:
        second = (
            first
            if chance.random() < 0.6
            else chance.choice(relation["frames"] + relation.get("denied", []))
        )
        older = _said(relation, first, one, old)
        return older, _said(relation, second, two, new if chance.random() < 0.8 else old)
    if way < 0.7:
        second = chance.choice([each for each in relation["frames"] if each != first])
        return _said(relation, first, one, old), _said(relation, second, one, old)
    if way < 0.8:
        return _said(relation, first, one, old), _said(
            relation, chance.choice(relation["details"]), one, old
        )
    kind = "asks" if way < 0.87 else "plans" if way < 0.92 else "events"
    return _said(relation, first, one, old), _said(
        relation, chance.choice(relation[kind]), one, old
    )


def fitted(
    rows: NDArray[np.float64],
    revises: NDArray[np.float64],
    weights: NDArray[np.float64],
    ridge: float,
) -> NDArray[np.float64]:
    """Fit a logistic model by Newton's method; the first column is the constant, which is not held back."""
    found = np.zeros(rows.shape[1])
    held = np.eye(rows.shape[1]) * ridge
    held[0, 0] = 1e-3
    for _ in range(40):
        likely = 1 / (1 + np.exp(-rows @ found))
        curved = (rows * (likely * (1 - likely) * weights)[:, None]).T @ rows + held
        found += np.linalg.solve(curved, rows.T @ ((revises - likely) * weights) - held @ found)
    return found
