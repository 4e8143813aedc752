"""Raise the scores of records by those of their neighbours in a session, and by a speaker named in the question.

An answer is often next to, rather than in, the record that shares words with the question. Measured in
docs/decisions/0027-late-interaction-and-relevance.md.
"""

import re
from collections.abc import Collection, Container, Mapping, Sequence
from math import exp
from typing import Any, TypeVar

from minutebook.text.words import words

K = TypeVar("K", bound=str | tuple[Any, ...])

NEIGHBOURS = (0.25, 0.2)
"""The parts of the scores of adjacent records, and of the next but one, that a record gains."""

EVIDENCE = 0.05
"""A note's own score at which it takes half of each gain. What is said in a talk takes all of it, since it may answer in
words of its own; a note that has nothing to do with a question only happens to stand in the session."""

SESSION = 0.4
"""The part of the best score of its session, its own included, that a record gains."""

TALK = tuple(exp(-distance) for distance in range(4))
"""The weights in a mean of a turn's own score and of those one, two and three places away."""

BEST_TURN = 0.3
"""The weight of the best score of a session relative to that mean."""

NAMED = 0.1
"""The gain of a record with a speaker that the question names."""

_LABEL = re.compile(r"\s*([^:\n]{1,40}):\s")


def lifted(
    scores: Mapping[K, float], sessions: Sequence[Sequence[K]], said: Container[K]
) -> dict[K, float]:
    """Lift scores in [0, 1] by those of the same session, given in the order of time.

    Each gain counts for the part that a score lacks, so that scores stay in [0, 1]. A record that is not among
    those `said` in a talk takes the part s / (s + EVIDENCE) of each gain, where s is its own score. What is in no session, or alone in one,
    keeps its score.
    """
    found = dict(scores)
    for session in sessions:
        held = [key for key in session if key in scores]
        if len(held) < 2:
            continue
        best = max(scores[key] for key in held)
        for place, key in enumerate(held):
            own = scores[key]
            part = 1.0 if key in said else own / (own + EVIDENCE)
            lacking = (1 - own) * (1 - part * SESSION * best)
            for apart, weight in enumerate(NEIGHBOURS, 1):
                for beside in (place - apart, place + apart):
                    if 0 <= beside < len(held):
                        lacking *= 1 - part * weight * scores[held[beside]]
            found[key] = 1 - lacking
    return found


def averaged(scores: Mapping[K, float], sessions: Sequence[Sequence[K]]) -> dict[K, float]:
    """Return scores of turns, each the mean of its own, of those around it in its session, in the order of time, and of the best there.

    A deciding turn often shares no word with a question about its subject. Gains that add up, as `lifted` has them, put long
    sessions above short ones. What is in no session, or alone in one, keeps its score.
    """
    found = dict(scores)
    for session in sessions:
        held = [scores[key] for key in session if key in scores]
        if len(held) < 2:
            continue
        best = max(held)
        means = (_mean_around(held, place) for place in range(len(held)))
        keys = (key for key in session if key in scores)
        for key, mean in zip(keys, means, strict=True):
            found[key] = (mean + BEST_TURN * best) / (1 + BEST_TURN)
    return found


def _mean_around(scores: Sequence[float], place: int) -> float:
    near = range(max(0, place - len(TALK) + 1), min(len(scores), place + len(TALK)))
    weights = [TALK[abs(place - at)] for at in near]
    return sum(w * scores[at] for w, at in zip(weights, near, strict=True)) / sum(weights)


def label_of(text: str) -> str | None:
    """Return the speaker's label, such as the `Ana` of `Ana: …`, with which a line of dialogue begins."""
    found = _LABEL.match(text) if ":" in text else None
    return found[1] if found else None


class NamedSpeakers:
    """Tells which labels, such as the `Ana` of `Ana: …`, have all their words in a question."""

    def __init__(self, question: Collection[str]) -> None:
        """Take the words of a question, as `text.words.words` gives them."""
        self._question = frozenset(question)
        self._known: dict[str, bool] = {}

    def include(self, label: str | None) -> bool:
        """Tell whether there is a label of one to three words, all of them in the question."""
        if label is None:
            return False
        if label not in self._known:
            named = words(label)
            self._known[label] = 0 < len(named) <= 3 and self._question.issuperset(named)
        return self._known[label]
