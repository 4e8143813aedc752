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
"""Share of a neighbour's score that a record gains: of one next to it in the session, and of one two places away."""

EVIDENCE = 0.05
"""The own score at which a note takes half of each gain."""
# A turn of a conversation takes all of it, since it may answer in words of its own. A note that has nothing to do with
# the question may be in the session by chance.

SESSION = 0.4
"""Share of the best score in its session, its own included, that a record gains."""

TALK = tuple(exp(-distance) for distance in range(4))
"""Weights of the scores of turns zero, one, two and three places away, in the mean around a turn."""

BEST_TURN = 0.3
"""Weight of the best score of a session, where the mean around a turn weighs 1."""

NAMED = 0.1
"""What a record's score gains if the question names its speaker."""

_LABEL = re.compile(r"\s*([^:\n]{1,40}):\s")


def lifted(
    scores: Mapping[K, float], sessions: Sequence[Sequence[K]], turns: Container[K]
) -> dict[K, float]:
    """Return the scores, in [0, 1], raised by those of records of the same session.

    Each session lists the keys of its records in the order of time. A gain g raises a score s to 1 - (1 - s)(1 - g),
    so that scores stay in [0, 1]. A record that is not in `turns`, the keys of turns of a conversation, takes the
    share s / (s + EVIDENCE) of each gain. A record in no session, or alone in one, keeps its score.
    """
    raised = dict(scores)
    for session in sessions:
        scored = [key for key in session if key in scores]
        if len(scored) < 2:
            continue
        best = max(scores[key] for key in scored)
        for place, key in enumerate(scored):
            own = scores[key]
            share = 1.0 if key in turns else own / (own + EVIDENCE)
            lacking = (1 - own) * (1 - share * SESSION * best)
            for distance, weight in enumerate(NEIGHBOURS, 1):
                for neighbour in (place - distance, place + distance):
                    if 0 <= neighbour < len(scored):
                        lacking *= 1 - share * weight * scores[scored[neighbour]]
            raised[key] = 1 - lacking
    return raised


def averaged(scores: Mapping[K, float], sessions: Sequence[Sequence[K]]) -> dict[K, float]:
    """Return the scores of turns, each averaged with those around it and with the best score of its session.

    Each session lists the keys of its turns in the order of time. The turn that decides something often shares no word
    with a question about it. `lifted` adds gains up and so would put long sessions above short ones. A turn in no
    session, or alone in one, keeps its score.
    """
    averages = dict(scores)
    for session in sessions:
        keys = [key for key in session if key in scores]
        if len(keys) < 2:
            continue
        own = [scores[key] for key in keys]
        for place, key in enumerate(keys):
            averages[key] = (_mean_around(own, place) + BEST_TURN * max(own)) / (1 + BEST_TURN)
    return averages


def _mean_around(scores: Sequence[float], place: int) -> float:
    """Return the mean of the score at a place and of those around it, weighted by TALK."""
    near = range(max(0, place - len(TALK) + 1), min(len(scores), place + len(TALK)))
    weights = [TALK[abs(place - other)] for other in near]
    total = sum(weight * scores[other] for weight, other in zip(weights, near, strict=True))
    return total / sum(weights)


def label_of(text: str) -> str | None:
    """Return the speaker's name before the first colon of a line of dialogue (`Ana: …`); None if there is none."""
    found = _LABEL.match(text) if ":" in text else None
    return found[1] if found else None


class NamedSpeakers:
    """The speakers that a question names."""

    def __init__(self, question: Collection[str]) -> None:
        """Keep the words of a question, as `text.words.words` returns them."""
        self._question = frozenset(question)
        self._known: dict[str, bool] = {}

    def include(self, label: str | None) -> bool:
        """Tell whether a speaker's label has one to three words, all of them in the question; False for None."""
        if label is None:
            return False
        if label not in self._known:
            named = words(label)
            self._known[label] = 0 < len(named) <= 3 and self._question.issuperset(named)
        return self._known[label]
