"""Estimate the chance that a search has found an answer, on one scale for every question and store.

Among many texts some are near any question, so that one threshold of a score cannot serve both ten texts and ten
thousand. The chance is a logistic function of the search's measurements: the strength of its best text, its distance
from the next, the mean of the ten best, and the number of texts compared. The coefficients are fitted by
`python -m benchmarks.calibrate_verdict`, which keeps its figures in docs/.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import nlargest
from math import exp, log, log1p
from typing import Any, Generic, TypeVar

LIKELY = 0.5
"""The strength of a text that says much of what the question asks."""


class Verdict(StrEnum):
    """The relevance of a hit in one word."""

    LIKELY = "likely"
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"


def verdict_of(relevance: float) -> Verdict:
    """Return the verdict on a hit with this relevance."""
    if relevance >= LIKELY_FROM:
        return Verdict.LIKELY
    return Verdict.POSSIBLE if relevance >= POSSIBLE_FROM else Verdict.UNLIKELY


K = TypeVar("K", bound=str | tuple[Any, ...])

POSSIBLE_FROM, LIKELY_FROM = 0.13, 0.55
"""The least chances at which a search has possibly, and likely, found an answer."""

POSSIBLE_ACROSS_FROM = 0.065
"""The least chance at which a search has possibly found an answer, if all of the best texts are in other languages than the question.

Such texts share no words with the question and score less by meaning. If a store has texts in its language, some are
among the best, and POSSIBLE_FROM serves.
"""

BEST = 10
"""The number of best texts that the chance depends on."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The measurements of a search: the strengths of its best texts, and the numbers of texts and words compared.

    `best`, `second`, `fifth` are strengths, `mean` that of the ten best; with fewer texts the missing ones have the
    strength `absent` of the `Coefficients`. `cosine` is the greatest, 0 for unrelated texts and 1 for equal ones, `bm25`
    the best score, `texts` the number compared, `words` the length of the question (`text.length_in_words`). What was not
    measured is 0.
    """

    best: float
    second: float
    fifth: float
    mean: float
    cosine: float
    bm25: float
    texts: int
    words: float

    def signals(self) -> tuple[float, ...]:
        """Return the values that the coefficients weigh, in their order."""
        return (
            self.best,
            self.best - self.second,
            self.best - self.fifth,
            self.mean,
            self.cosine,
            log1p(self.bm25),
            log(max(1, self.texts)),
            log(max(1, self.words)),
        )


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The weights of an evidence's signals, and of the strength and the BM25 score in the merit of one text.

    `absent` is the strength that stands for each missing text among the ten best.
    """

    intercept: float
    weights: tuple[float, ...]
    strength: float
    bm25: float
    absent: float

    def evidence(
        self, strengths: Iterable[float], cosine: float, bm25: float, texts: int, words: float
    ) -> Evidence:
        """Return the evidence of a search from the strengths of the compared texts."""
        ten = nlargest(BEST, strengths)
        ten += [self.absent] * (BEST - len(ten))
        return Evidence(ten[0], ten[1], ten[4], sum(ten) / BEST, cosine, bm25, texts, words)

    def chance(self, evidence: Evidence) -> float:
        """Return the chance that the texts found answer the question, in (0, 1)."""
        pairs = zip(self.weights, evidence.signals(), strict=True)
        return _logistic(self.intercept + sum(weight * signal for weight, signal in pairs))

    def merit(self, strength: float, bm25: float) -> float:
        """Return the merit of one text by its own signals, in log odds relative to other texts."""
        return self.strength * strength + self.bm25 * log1p(bm25)


BY_TOKENS = Coefficients(
    intercept=-7.78,
    weights=(21.91, 5.77, -0.69, -5.82, 2.09, 0.21, -0.3, 0.66),
    strength=20.19,
    bm25=0.38,
    absent=0.12,
)
"""For strengths that are scores of token states and vectors."""

BY_VECTORS = Coefficients(
    intercept=-2.8,
    weights=(2.01, 5.34, 9.27, 7.77, 0.0, 0.83, -0.52, -0.34),
    strength=10.87,
    bm25=1.12,
    absent=0.2,
)
"""For strengths that are cosines, 0 for unrelated texts, if a model makes no token states."""

BY_WORDS = Coefficients(
    intercept=-6.8,
    weights=(7.61, 0.7, 0.16, -0.19, 0.0, -0.22, 0.01, 1.94),
    strength=5.33,
    bm25=0.0,
    absent=0.0,
)
"""For strengths that are the part of the question's words in a text, if there is no model."""

OF_CODE = Coefficients(
    intercept=-18.17,
    weights=(45.11, 15.65, -0.7, -25.6, 0.0, 1.37, -0.15, -0.05),
    strength=24.36,
    bm25=1.4,
    absent=0.55,
)
"""For strengths that are cosines of code with a question less a part of the mean question."""


@dataclass(frozen=True, slots=True)
class Judgement(Generic[K]):
    """The chance that the texts found answer a question, and the share of each text in it.

    `measured` is the chance by the texts that were compared, `merits` are theirs, and `best` is the greatest merit. The
    `possible` texts have a relevance of POSSIBLE_FROM at least: those that were not compared, as they have no vector yet,
    and those that have every word. The chance is at least `floor`.
    """

    measured: float
    merits: Mapping[K, float]
    best: float
    possible: Collection[K] = ()
    floor: float = 0.0

    @property
    def chance(self) -> float:
        """The chance that the question is answered, in [0, 1]."""
        return max(self.measured, self.floor)

    @property
    def nearest(self) -> list[K]:
        """The texts with the greatest merits, at most BEST."""
        return nlargest(BEST, self.merits, key=self.merits.__getitem__)

    def at_least_possible(self, texts: Collection[K] = ()) -> "Judgement[K]":
        """Return the judgement with a chance of at least POSSIBLE_FROM, and with these texts among the possible ones."""
        return replace(self, floor=POSSIBLE_FROM, possible={*self.possible, *texts})

    def relevance(self, key: K) -> float:
        """Return the probability that this text is about the question; for the best text it is the chance of the search."""
        merit = self.merits.get(key)
        # By comparison with the best (Bradley and Terry 1952), where equal merits give 1/2: hence the factor 2.
        own = 0.0 if merit is None else self.chance * 2 * _logistic(merit - self.best)
        return POSSIBLE_FROM + (1 - POSSIBLE_FROM) * own if key in self.possible else own


def judge(
    late: Mapping[K, float],
    cosines: Mapping[K, float],
    bm25: Mapping[K, float],
    *,
    unrelated: float,
    texts: int,
    words: float,
) -> Judgement[K]:
    """Judge the results of a search by meaning and words.

    `late` has the late interaction of the texts that were compared token by token, `cosines` the cosine of each text
    with a vector, `bm25` the score of each with a word; `unrelated` is the model's cosine of unrelated texts.
    Texts with a word but no vector were not compared: they are possibly about the question.
    """
    scaled = {key: (cosine - unrelated) / (1 - unrelated) for key, cosine in cosines.items()}
    if late:
        # The others were predicted to score less than these.
        strengths = dict.fromkeys(cosines, min(late.values())) | dict(late)
        nearest = max(scaled.values(), default=0.0)
        found = _judged(BY_TOKENS, strengths, nearest, bm25, texts, words)
    else:
        strengths = scaled
        found = _judged(BY_VECTORS, scaled, 0.0, bm25, texts, words)
    unknown = bm25.keys() - strengths.keys()
    return found.at_least_possible(unknown) if unknown else found


def judge_words(
    covered: Mapping[K, float], bm25: Mapping[K, float], *, texts: int, words: float
) -> Judgement[K]:
    """Judge results found by words alone; `covered` has the part of the question's words in each text."""
    return _judged(BY_WORDS, covered, 0.0, bm25, texts, words)


def judge_code(
    cosines: Mapping[K, float], bm25: Mapping[K, float], *, texts: int, words: float
) -> Judgement[K]:
    """Judge the results of a search of code, by cosines less the mean question."""
    found = _judged(OF_CODE, cosines, 0.0, bm25, texts, words)
    unknown = bm25.keys() - cosines.keys()
    return found.at_least_possible(unknown) if unknown else found


def _judged(
    coefficients: Coefficients,
    strengths: Mapping[K, float],
    cosine: float,
    bm25: Mapping[K, float],
    texts: int,
    words: float,
) -> Judgement[K]:
    if not strengths:
        return Judgement(0.0, {}, 0.0)
    best_words = max(bm25.values(), default=0.0)
    evidence = coefficients.evidence(strengths.values(), cosine, best_words, texts, words)
    merits = {key: coefficients.merit(each, bm25.get(key, 0.0)) for key, each in strengths.items()}
    return Judgement(coefficients.chance(evidence), merits, max(merits.values()))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -500 else 0.0
