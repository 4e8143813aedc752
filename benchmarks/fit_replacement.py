"""Fit the weights by which the built-in summarizer tells how likely a later turn replaced a sentence.

`python -m benchmarks.fit_replacement` prints `WEIGHTS` of `minutebook.summarizing.replacement`, and how well weights
that are fitted to other sessions tell a replaced sentence: the area under the curve, by tenfold cross validation by
session. It is fitted to all labelled sessions but those of `HELD_OUT`. A sentence counts as replaced if it holds a
statement that is labelled as retracted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.retractions import Labelled, earlier_sets, read
from minutebook.summarizing.extractive import sayings, texts_of
from minutebook.summarizing.replacement import signs

Floats = NDArray[np.float64]

HELD_OUT = ("distinct", "independent")
"""Parts that nothing is fitted to."""

LIKE_REAL_ONES, TIMES = ("long", "far"), 3.0
"""The parts with sessions of three to seven turns, and how often each counts: the others have two turns."""

PENALTY = 2.0
"""The weight of the squared weights beside the log loss."""

FOLDS, ROUNDS = 10, 60


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of a session before its last turn: their signs (n, signs) and whether each was replaced (n,)."""

    session: Labelled
    signs: Floats
    replaced: Floats

    @property
    def times(self) -> Floats:
        """How often each counts, shape (n,)."""
        return np.full(len(self.replaced), TIMES if self.session.part in LIKE_REAL_ONES else 1.0)


def sentences_of(session: Labelled, names: Sequence[str]) -> Sentences:
    """Read the signs of a session's sentences."""
    found = sayings(session.turns, len(session.turns))
    told = [
        ([each.get(name, 0.0) for name in names], any(label.lower() in sentence.text.lower() for label in session.retracted))
        for sentence, each in zip(found, signs(texts_of(found)), strict=True)
        if each is not None
    ]  # fmt: skip
    rows = np.array([row for row, _ in told], np.float64).reshape(-1, len(names))
    return Sentences(session, rows, np.array([is_gone for _, is_gone in told], np.float64))


def names_of(sessions: Sequence[Labelled]) -> list[str]:
    """Return the names of all signs that occur."""
    found = [signs(texts_of(sayings(each.turns, len(each.turns)))) for each in sessions]
    return list(dict.fromkeys(name for each in found for row in each for name in row or ()))


def fit(sets: Sequence[Sentences]) -> Floats:
    """Return the weights, shape (signs,), by Newton's method."""
    rows = np.vstack([each.signs for each in sets])
    replaced = np.concatenate([each.replaced for each in sets])
    times = np.concatenate([each.times for each in sets])
    weights: Floats = np.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (times * (chance - replaced)) + PENALTY * weights
        bend = (rows * (times * chance * (1 - chance))[:, None]).T @ rows
        weights = weights - np.linalg.solve(bend + PENALTY * np.eye(len(weights)), slope)
    return weights


def area(scores: Floats, replaced: Floats) -> float:
    """Return how often a replaced sentence scores above one that was not."""
    gone, left = scores[replaced == 1], scores[replaced == 0]
    above = (gone[:, None] > left).mean() + 0.5 * (gone[:, None] == left).mean()
    return float(above)


def validated(sets: Sequence[Sentences]) -> list[Floats]:
    """Score the sentences of each session by weights that are fitted to others."""
    folds = np.random.default_rng(0).integers(0, FOLDS, len(sets))
    scores: list[Floats] = [np.zeros(0)] * len(sets)
    for fold in range(FOLDS):
        weights = fit([each for each, own in zip(sets, folds, strict=True) if own != fold])
        for index in np.flatnonzero(folds == fold).tolist():
            scores[index] = sets[index].signs @ weights
    return scores


def main() -> None:
    """Fit and print."""
    sessions = [each for each in (*read(), *earlier_sets()) if each.part not in HELD_OUT]
    names = names_of(sessions)
    sets = [sentences_of(each, names) for each in sessions]
    scores = validated(sets)
    for part in ("all", *dict.fromkeys(each.part for each in sessions)):
        own = [index for index, each in enumerate(sets) if part in ("all", each.session.part)]
        replaced = np.concatenate([sets[index].replaced for index in own])
        told = area(np.concatenate([scores[index] for index in own]), replaced)
        print(f"{part:<8}{len(replaced):>6} sentences{int(replaced.sum()):>5} replaced{told:>7.3f}")
    for name, weight in zip(names, fit(sets), strict=True):
        print(f'    "{name}": {weight:.2f},')


if __name__ == "__main__":
    main()
