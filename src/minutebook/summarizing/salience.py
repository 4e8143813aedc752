"""Which few of many sentences tell what they all are about, and do not say the same twice."""

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.search.text import GAP, is_stop_term, word_terms

Rows: TypeAlias = NDArray[np.float32]
"""One row a sentence; shape (sentences, dimensions)."""

BALANCE = 0.7
"""How much being salient says against being new: the λ of maximal marginal relevance."""

SAME = 0.85
"""Sentences with a cosine above this say the same."""


def by_words(texts: Sequence[str]) -> list[float]:
    """Score how near each text's words are to the words of all: its cosine with their sum.

    Words weigh tf·idf, idf over these texts; stop words nothing. Every score lies in 0..1.
    """
    counted = _weighed(texts)
    total: Counter[str] = Counter()
    for weights in counted:
        total.update(weights)
    whole = _length(total)
    scores = []
    for weights in counted:
        own = _length(weights)
        dot = sum(weight * total[term] for term, weight in sorted(weights.items()))
        scores.append(dot / (own * whole) if own and whole else 0.0)
    return scores


def word_rows(texts: Sequence[str]) -> Rows:
    """Return each text as a row of word weights, normalized to length 1 or all zero."""
    counted = _weighed(texts)
    places = {term: index for index, term in enumerate(sorted(set().union(*counted)))}
    rows = np.zeros((len(texts), max(1, len(places))), np.float32)
    for row, weights in zip(rows, counted, strict=True):
        for term, weight in weights.items():
            row[places[term]] = weight
    return _unit(rows)


def mmr_select(
    rows: Rows, salience: Sequence[float], chosen_first: Sequence[int], count: int
) -> list[int]:
    """Choose, beside those given, the most salient rows that are unlike all chosen before.

    Maximal marginal relevance (Carbonell and Goldstein, 1998): each next one has the greatest
    λ·salience − (1 − λ)·cosine with the nearest chosen. Ties go to the first. What says the same as
    one chosen is left out, so fewer than `count` may come back; they do so in order of their places,
    those given among them.
    """
    chosen = list(dict.fromkeys(chosen_first))
    alike = rows @ rows.T
    left = [index for index in range(len(rows)) if index not in chosen]
    while left and len(chosen) < count:
        nearest = {
            index: max((float(alike[index, c]) for c in chosen), default=0.0) for index in left
        }
        left = [index for index in left if nearest[index] <= SAME]
        if not left:
            break
        best = max(left, key=lambda p: BALANCE * salience[p] - (1 - BALANCE) * nearest[p])
        chosen.append(best)
        left.remove(best)
    return sorted(chosen)


def _weighed(texts: Sequence[str]) -> list[dict[str, float]]:
    counts = [Counter(filter(_tells, word_terms(text))) for text in texts]
    held = Counter(term for count in counts for term in count)
    idf = {term: log(1 + len(texts) / number) for term, number in held.items()}
    return [
        {term: (1 + log(number)) * idf[term] for term, number in count.items()} for count in counts
    ]


def _tells(term: str) -> bool:
    return term != GAP and not is_stop_term(term)


def _length(weights: dict[str, float] | Counter[str]) -> float:
    return float(sum(weight * weight for _, weight in sorted(weights.items())) ** 0.5)


def _unit(rows: Rows) -> Rows:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Rows = (rows / np.where(lengths > 1e-9, lengths, 1.0)).astype(np.float32)
    return scaled
