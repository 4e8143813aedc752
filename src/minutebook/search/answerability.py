"""Tell how likely it is that a search has found an answer, on one scale for every question and store.

Among many texts some come near any question, so one cut of a score cannot serve ten texts and ten thousand. The
chance is a logistic of what the search measured: how good its best text is, how far that stands out from the
next, how good the ten best are together, and how many texts were compared. The coefficients are fitted by
`python -m benchmarks.calibrate_verdict`, which keeps its figures in docs/.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from heapq import nlargest
from math import exp, log, log1p
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=str | tuple[Any, ...])

NOTHING_BELOW, FOUND_FROM = 0.16, 0.6
"""The chances below which a search has found nothing, and from which it has found an answer."""

NOTHING_ACROSS_BELOW = 0.065
"""The chance below which a search has found nothing, where the best text is in another language than the question.

Such a text shares no words with the question and scores less by meaning. By NOTHING_BELOW 14 % of questions in eleven
languages on English paragraphs lose their answer, by this 7 %.
"""

FILLER_BELOW = 0.05
"""The relevance below which a text beside a found answer only fills the list."""

BEST = 10
"""How many of the best texts count."""


class AnswerVerdict(StrEnum):
    """Whether a search has found an answer."""

    FOUND = "found"
    PERHAPS = "perhaps"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The measurements of a search: the strengths of its best texts, and the numbers of texts and words compared.

    `best`, `second`, `fifth` are strengths, `mean` that of the ten best; a text that is not there has the strength
    `absent` of its `Coefficients`. `cosine` is the greatest, 0 for unrelated texts and 1 for equal ones, `bm25` the
    best score, `texts` how many were compared, `words` the length of the question. What was not measured is 0.
    """

    best: float
    second: float
    fifth: float
    mean: float
    cosine: float
    bm25: float
    texts: int
    words: int

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
    """The weights of an evidence's signals, and of one text's own strength and BM25 beside those of the best.

    `absent` is the strength that counts in the place of each of the ten best texts that is not there.
    """

    intercept: float
    weights: tuple[float, ...]
    strength: float
    bm25: float
    absent: float

    def evidence(
        self, strengths: Iterable[float], cosine: float, bm25: float, texts: int, words: int
    ) -> Evidence:
        """Sum up the strengths of the texts that were compared."""
        ten = nlargest(BEST, strengths)
        ten += [self.absent] * (BEST - len(ten))
        return Evidence(ten[0], ten[1], ten[4], sum(ten) / BEST, cosine, bm25, texts, words)

    def chance(self, evidence: Evidence) -> float:
        """Return the chance that the texts found answer the question, in (0, 1)."""
        pairs = zip(self.weights, evidence.signals(), strict=True)
        return _logistic(self.intercept + sum(weight * signal for weight, signal in pairs))

    def merit(self, strength: float, bm25: float) -> float:
        """Return how much one text's own signals say for it, in log odds beside other texts."""
        return self.strength * strength + self.bm25 * log1p(bm25)


BY_TOKENS = Coefficients(
    intercept=-8.15,
    weights=(22.36, 5.13, -0.3, -11.24, 6.22, 0.13, -0.18, 0.6),
    strength=17.86,
    bm25=0.49,
    absent=0.12,
)
"""Strengths are late interaction."""

BY_VECTORS = Coefficients(
    intercept=-3.74,
    weights=(8.63, 5.64, 5.48, 2.63, 0.0, 0.65, -0.44, -0.03),
    strength=8.97,
    bm25=1.1,
    absent=0.2,
)
"""Strengths are cosines, 0 for unrelated texts, where a model gives no token states."""

BY_WORDS = Coefficients(
    intercept=-5.61,
    weights=(7.15, 0.83, -0.29, -0.21, 0.0, -0.51, 0.12, 1.5),
    strength=4.6,
    bm25=0.0,
    absent=0.0,
)
"""Strengths are the parts of the question that texts hold, where there is no model."""

OF_CODE = Coefficients(
    intercept=-17.98,
    weights=(43.83, 16.98, 0.49, -24.09, 0.0, 1.41, -0.23, -0.07),
    strength=24.32,
    bm25=1.41,
    absent=0.55,
)
"""Strengths are cosines of code with a question less a part of the mean question."""


@dataclass(frozen=True, slots=True)
class Judgement(Generic[K]):
    """The chance that the texts found answer a question, and the share of each text in it.

    `measured` is the chance by the texts that were compared, `merits` are theirs, and `best` the best of these. Texts
    that were not compared, since they have no vector yet, are `unknown`. The chance is no less than `floor`.
    """

    measured: float
    merits: Mapping[K, float]
    best: float
    unknown: Collection[K] = ()
    floor: float = 0.0

    @property
    def chance(self) -> float:
        """The chance that the question is answered, in [0, 1]."""
        return max(self.measured, self.floor)

    @property
    def verdict(self) -> AnswerVerdict:
        """The chance in a word."""
        return verdict_of(self.chance)

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is about the question."""
        return self.verdict is AnswerVerdict.NOTHING

    @property
    def nearest(self) -> K | None:
        """The text that says most for itself, None if none was compared."""
        return max(self.merits, key=self.merits.__getitem__, default=None)

    def at_least_perhaps(self) -> "Judgement[K]":
        """Return it with a chance of no less than that from which the verdict is *perhaps*."""
        return replace(self, floor=NOTHING_BELOW)

    def relevance(self, key: K) -> float:
        """Return how likely this text is about the question, in [0, 1]: the best has the measured chance."""
        if key in self.unknown:
            return NOTHING_BELOW
        merit = self.merits.get(key)
        if merit is None:
            return 0.0
        # Beside the best, which is as likely as itself: Bradley and Terry (1952).
        return self.measured * 2 * _logistic(merit - self.best)

    def is_filler(self, key: K) -> bool:
        """Tell whether a text is so weak beside an answer that was found that it only fills the list."""
        return self.verdict is AnswerVerdict.FOUND and self.relevance(key) < FILLER_BELOW


def verdict_of(chance: float) -> AnswerVerdict:
    """Return the verdict on a chance."""
    if chance < NOTHING_BELOW:
        return AnswerVerdict.NOTHING
    return AnswerVerdict.FOUND if chance >= FOUND_FROM else AnswerVerdict.PERHAPS


def judge(
    late: Mapping[K, float],
    cosines: Mapping[K, float],
    bm25: Mapping[K, float],
    *,
    unrelated: float,
    texts: int,
    words: int,
) -> Judgement[K]:
    """Judge the results of a search by meaning and words.

    `late` has the late interaction of the texts that were compared token by token, `cosines` that of each text
    with a vector, `bm25` that of each that holds a word; `unrelated` is the model's cosine of unrelated texts.
    Texts with a word but no vector were not compared: they are perhaps about the question.
    """
    scaled = {key: (cosine - unrelated) / (1 - unrelated) for key, cosine in cosines.items()}
    if late:
        # The others were predicted to do worse than these.
        strengths = dict.fromkeys(cosines, min(late.values())) | dict(late)
        nearest = max(scaled.values(), default=0.0)
        found = _judged(BY_TOKENS, strengths, nearest, bm25, texts, words)
    else:
        strengths = scaled
        found = _judged(BY_VECTORS, scaled, 0.0, bm25, texts, words)
    unknown = bm25.keys() - strengths.keys()
    return replace(found, unknown=unknown).at_least_perhaps() if unknown else found


def judge_words(
    covered: Mapping[K, float], bm25: Mapping[K, float], *, texts: int, words: int
) -> Judgement[K]:
    """Judge results found by words alone; `covered` has the part of the question that each text holds."""
    return _judged(BY_WORDS, covered, 0.0, bm25, texts, words)


def judge_code(
    cosines: Mapping[K, float], bm25: Mapping[K, float], *, texts: int, words: int
) -> Judgement[K]:
    """Judge the results of a search of code, by cosines less the mean question."""
    found = _judged(OF_CODE, cosines, 0.0, bm25, texts, words)
    unknown = bm25.keys() - cosines.keys()
    return replace(found, unknown=unknown).at_least_perhaps() if unknown else found


def _judged(
    coefficients: Coefficients,
    strengths: Mapping[K, float],
    cosine: float,
    bm25: Mapping[K, float],
    texts: int,
    words: int,
) -> Judgement[K]:
    if not strengths:
        return Judgement(0.0, {}, 0.0)
    best_words = max(bm25.values(), default=0.0)
    evidence = coefficients.evidence(strengths.values(), cosine, best_words, texts, words)
    merits = {key: coefficients.merit(each, bm25.get(key, 0.0)) for key, each in strengths.items()}
    return Judgement(coefficients.chance(evidence), merits, max(merits.values()))


def _logistic(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > -500 else 0.0
