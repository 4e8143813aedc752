"""Fit the numbers by which a statement of a talk is told to have been taken back: `python -m benchmarks.fit_talks`.

It is fitted to the labelled sessions of `benchmarks.retractions` and `benchmarks.summarizing` but those of `HELD_OUT`,
sentence by sentence: one counts as taken back if it holds a statement that is labelled so. It prints how well networks
that are fitted to other sessions tell them (three folds by session), and writes `talk_weights.npz` of
`minutebook/features/summarizer`. Some networks are held back much and say what is so anywhere, some little and know the lessons.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_revisions import Lesson, Matrix, Way, fit, logistic, score
from benchmarks.retractions import Labelled, earlier_sets, read
from minutebook.features import summarizer
from minutebook.features.summarizer.extractive import quotes_of, statements_in
from minutebook.features.summarizer.talks import signs

HELD_OUT = ("distinct", "independent")
"""Parts that nothing is fitted to."""

LIKE_REAL_ONES, TIMES = ("long", "far", "lessons"), 3.0
"""The parts with sessions of three to nine turns, and how often each counts: the others have two turns."""

WAYS = (
    Way(hidden=4, rounds=120, ridge=1e-2, dropped=0.4, nets=4),
    Way(hidden=4, rounds=400, ridge=4e-4, dropped=0.1, nets=2),
)
OF_HOLDING = 2.0
"""What a sentence weighs that is labelled as holding."""

LEAST_SEEN = 12
"""Sentences that show a sign which is learnt from."""

FOLDS = 3


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of a session before its last turn, by the number of the session."""

    session: int
    part: str
    lesson: Lesson


def told(sessions: Sequence[Labelled]) -> list[Told]:
    """Read the sentences of sessions, with the signs of each."""
    found = []
    for number, session in enumerate(sessions):
        said = statements_in(quotes_of(session.turns, len(session.turns)))
        times = TIMES if session.part in LIKE_REAL_ONES else 1.0
        for index, instances in signs(said, range(len(said))):
            if not instances:
                continue
            is_gone, holds = (
                any(label.lower() in said[index].text.lower() for label in labels)
                for labels in (session.retracted, session.holds)
            )
            rows = [row for _, row in instances]
            lesson = Lesson(rows, is_gone, times * (OF_HOLDING if holds else 1.0))
            found.append(Told(number, session.part, lesson))
    return found


def area(scores: Matrix, gone: NDArray[np.bool_]) -> float:
    """Return how often a sentence that was taken back scores above one that was not."""
    return float((scores[gone][:, None] > scores[~gone]).mean())


def main() -> None:
    """Fit, print, write."""
    every = told([*read(), *earlier_sets()])
    learnt = [each for each in every if each.part not in HELD_OUT]
    seen = Counter(
        name
        for each in learnt
        for name in {name for row in each.lesson.signs for name, sign in row.items() if sign}
    )
    names = [name for name, count in seen.items() if count >= LEAST_SEEN]
    net = fit([each.lesson for each in learnt], names, WAYS)
    scores = np.array([score(net, each.lesson.signs) for each in every])
    for fold in range(FOLDS):
        apart = fit([e.lesson for e in learnt if e.session % FOLDS != fold], names, WAYS)
        for number, each in enumerate(every):
            if each.part not in HELD_OUT and each.session % FOLDS == fold:
                scores[number] = score(apart, each.lesson.signs)
    gone = np.array([each.lesson.is_so for each in every])
    parts = np.array([each.part for each in every])
    for part in dict.fromkeys(parts.tolist()):
        own = parts == part
        told_apart = area(scores[own], gone[own])
        print(
            f"{part:<12}{own.sum():>6} sentences{gone[own].sum():>5} taken back{told_apart:>7.3f}"
        )
    is_learnt = ~np.isin(parts, HELD_OUT)
    of_all = np.c_[scores[is_learnt], np.ones(is_learnt.sum())]
    slope = logistic(of_all, gone[is_learnt].astype(float), 1e-3)
    kept = net | {"scale": slope, "cut": np.array([0.5])}
    arrays = {f"talks.{key}": value for key, value in kept.items()}
    np.savez_compressed(Path(summarizer.__file__).with_name("talk_weights.npz"), **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
