"""Fit the numbers by which a sentence is worth telling to a colleague: `python -m benchmarks.fit_worth`.

They are fitted to the sessions of `benchmarks.handovers` that are not held out, sentence by sentence: one is worth telling if it
holds a fact that must be told and nothing that was taken back; one that was taken back counts several times. It prints how well
each session's sentences are told apart by numbers fitted to the others, and writes `worth.toml` of the summarizer.
"""

from pathlib import Path

import numpy as np

from benchmarks import handovers
from benchmarks.fit_revisions import Matrix, logistic
from benchmarks.fit_talks import area
from minutebook.features import summarizer
from minutebook.features.summarizer.extractive import quotes_of, statements_in
from minutebook.features.summarizer.talks import taken_back
from minutebook.features.summarizer.worth import signs_of, term_weights

NAMES = (
    "always", "by the user", "last turn", "late", "of few turns", "of a long text", "announces", "words", "telling",
    "says a fact", "open at the end", "unsettled before the end", "points back",
    "one of the proposed", "central", "new", "tentative", "guess", "of_all", "next rejects", "taken back",
)  # fmt: skip
"""The signs that have weights: few, since the sessions are few."""

RIDGE = 10.0
TIMES = 4
"""How often a sentence counts that was taken back."""


def lessons(session: handovers.Handover) -> tuple[Matrix, Matrix]:
    """Return the signs of the sentences of a session, and whether each is worth telling."""
    quotes = list(quotes_of(session.turns, len(session.turns)))
    signs = signs_of(quotes, term_weights([each.text for each in quotes]), len(session.turns))
    chances = taken_back(statements_in(quotes), range(len(quotes)))
    rows, wanted = [], []
    for index, each in enumerate(quotes):
        text = handovers.plain(each.text)
        is_stale = any(handovers.plain(gone) in text for gone in session.taken_back)
        is_fact = any(handovers.plain(way) in text for fact in session.facts for way in fact)
        all_signs = signs[index] | {"taken back": chances[index].chance}
        row = [all_signs.get(name, 0.0) for name in NAMES]
        rows += [row] * (TIMES if is_stale else 1)
        wanted += [float(is_fact and not is_stale)] * (TIMES if is_stale else 1)
    return np.array(rows), np.array(wanted)


def fitted(learnt: list[tuple[Matrix, Matrix]]) -> Matrix:
    """Return the weight of each sign."""
    rows = np.concatenate([each for each, _ in learnt])
    spread = rows.std(axis=0) + 1e-6
    spread[0] = 1.0
    middle = rows.mean(axis=0)
    middle[0] = 0.0
    found = logistic((rows - middle) / spread, np.concatenate([each for _, each in learnt]), RIDGE)
    weights: Matrix = found / spread
    weights[0] -= (weights[1:] * middle[1:]).sum()
    return weights


def main() -> None:
    """Fit, print, write."""
    sessions = [each for each in handovers.read() if each.part not in ("held", "unseen")]
    learnt = list(map(lessons, sessions))
    for number, session in enumerate(sessions):
        rows, wanted = learnt[number]
        others = fitted(learnt[:number] + learnt[number + 1 :])
        print(f"{session.id:<20}{area(rows @ others, wanted > 0):.3f}")
    weights = fitted(learnt)
    lines = ["# What each sign of a sentence weighs: fitted by `python -m benchmarks.fit_worth`."]
    lines += [f"{name!r} = {weight:.4g}" for name, weight in zip(NAMES, weights, strict=True)]
    path = Path(summarizer.__file__).with_name("worth.toml")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
