"""Turn the scores of signals into numbers in [0, 1] that mean the same for every question and store.

ABOUT_SLOPE and ABOUT_MIDDLE are fitted by `python -m benchmarks.calibrate`, WORDS_SLOPE and WORDS_MIDDLE by
`python -m benchmarks.calibrate_words`; both keep their figures in docs/. The others were chosen by what ranks best on the
development half of LoCoMo: docs/decisions/0027-late-interaction-and-relevance.md.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from math import exp, log
from typing import Any, TypeVar

K = TypeVar("K", bound=str | tuple[Any, ...])

SLOPE, MIDDLE = 14.0, 0.46
"""The logistic function from late interaction to strength: a text that says much of what the question asks has 1/2."""

ABOUT_SLOPE, ABOUT_MIDDLE = 43.3, 0.257
"""The logistic function from the score of token states and vectors to the chance that a text answers rather than is about something else."""

UNRELATED_COSINE = 0.72
"""The cosine of unrelated texts by multilingual-e5-small alone, the model of code."""

HALF_BM25 = 24.0
"""The BM25 score with a strength of 1/2."""

WORDS_SLOPE, WORDS_MIDDLE = 9.8, 0.221
"""The logistic function from the part of a question's words in a text to the chance that it answers, without a vector."""

WORDS_TIE = 0.01
"""The weight of BM25 if words alone decide: it orders texts with the same part of the question's words."""

EXPECTED_OF_COSINE, EXPECTED_HALF_BM25 = 0.65, 8.0
"""The constants that choose the candidates compared token by token: the weight of the cosine, and the BM25 score that counts half."""

CUT = 0.5
"""The least relevance of a text that is about a question."""


def strength_of_late(late: float) -> float:
    """Return the strength of a late interaction score, in (0, 1)."""
    return _logistic(SLOPE * (late - MIDDLE))


def strength_of_cosine(cosine: float, unrelated: float) -> float:
    """Return the strength of a cosine, for texts without token states.

    `unrelated` is the cosine of unrelated texts by the same model, less than 1.
    """
    return strength_of_late((cosine - unrelated) / (1 - unrelated))


def rescaled_cosine(cosine: float, unrelated: float, unrelated_there: float) -> float:
    """Return a cosine by one model on the scale of another, by which unrelated texts have the cosine `unrelated_there`."""
    return 1 - (1 - cosine) * (1 - unrelated_there) / (1 - unrelated)


def strength_of_bm25(score: float) -> float:
    """Return the strength of a BM25 score, in [0, 1): a single common word says little."""
    squared = max(score, 0.0) ** 2
    return squared / (squared + HALF_BM25**2)


def strength_of_words(covered: float, bm25: float) -> float:
    """Return the strength of words if they alone decide: the relevance of a text, whatever the store's size.

    `covered` is the part of the question's words in the text. BM25 alone would tell nothing in a store of a
    few records, all of which may have a word.
    """
    chance = _logistic(WORDS_SLOPE * (covered - WORDS_MIDDLE))
    return (1 - WORDS_TIE) * chance + WORDS_TIE * strength_of_bm25(bm25)


def expectations(
    keys: Iterable[K], cosines: Mapping[K, float], bm25: Mapping[K, float], unrelated: float
) -> list[tuple[float, K]]:
    """Predict the scores of texts in a comparison token by token.

    Return the negative of a number in [0, 1] before each key, so that the best sort first.
    """
    by_meaning = EXPECTED_OF_COSINE / (1 - unrelated)
    by_words = 1 - EXPECTED_OF_COSINE
    found = []
    for key in keys:
        above, score = cosines.get(key, 0.0) - unrelated, bm25.get(key, 0.0)
        expected = by_meaning * above if above > 0 else 0.0
        if score > 0:
            expected += by_words * score / (score + EXPECTED_HALF_BM25)
        found.append((-expected, key))
    return found


def relevance(strength: float) -> float:
    """Return the chance that a text with this strength of the vector signal is about the question."""
    if not 0 < strength < 1:
        return strength
    late = MIDDLE + log(strength / (1 - strength)) / SLOPE
    return _logistic(ABOUT_SLOPE * (late - ABOUT_MIDDLE))


def rank_score(similarity: float, importance: float, age: timedelta) -> float:
    """Weigh meaning, importance (0 to 10) and freshness: 0.6 · s + 0.3 · i / 10 + 0.1 · f.

    Freshness falls from 1 by a sixtieth a day, to 0.5 at the least. The catalog contract's formula.
    """
    freshness = max(0.5, 1 - age / timedelta(days=60))
    return 0.6 * similarity + 0.3 * importance / 10 + 0.1 * freshness


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -500 else 0.0
