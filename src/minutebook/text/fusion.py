"""Fuse the scores of several signals for the same candidates, and keep the share of each signal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from math import fsum, isfinite, sqrt
from typing import Any, Generic, TypeVar

from minutebook.record.errors import InvalidInput

K = TypeVar("K", bound=str | tuple[Any, ...])

LEAST_DEVIATION = 1e-6
"""The standard deviation below which scores count as equal."""


class Signal(StrEnum):
    """A way to find and score candidates."""

    VECTOR = "vector"
    LEXICAL = "lexical"
    GRAPH = "graph"


TEXT_WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.40, Signal.LEXICAL: 0.15}
"""The weights of the signals of a text if there are only these two: 0.73 and 0.27 of the whole."""


@dataclass(frozen=True, slots=True)
class Share:
    """The score that one signal gave a hit, and its share of the hit's score.

    `raw` is the signal's own score and `rank` the place it gave, 1 the best; both are None if the
    signal did not find the hit. `normalised` lies in [0, 1]. The weights of a hit's signals sum
    to 1, and so do their shares, if the score is above 0.
    """

    signal: Signal
    raw: float | None
    normalised: float
    rank: int | None
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class FusedHit(Generic[K]):
    """A candidate's fused score in [0, 1], and the share in it of each signal that found anything."""

    id: K
    score: float
    shares: tuple[Share, ...]


def minmax(scores: Mapping[K, float]) -> dict[K, float]:
    """Scale scores to [0, 1], the best to 1, the worst to 0; all to 1 if all are equal.

    Equal scores are all the best, and a signal that found one candidate must not count as if it
    had found none.
    """
    if not scores:
        return {}
    worst, best = min(scores.values()), max(scores.values())
    if worst == best:
        return dict.fromkeys(scores, 1.0)
    return {id: (score - worst) / (best - worst) for id, score in scores.items()}


def z_normalise(scores: Sequence[float]) -> list[float]:
    """Return each score's distance from the mean in (population) standard deviations.

    All are 0 when the deviation is below `LEAST_DEVIATION`.
    """
    if not scores:
        return []
    mean = fsum(scores) / len(scores)
    deviation = sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))
    if deviation < LEAST_DEVIATION:
        return [0.0] * len(scores)
    return [(score - mean) / deviation for score in scores]


def fuse(
    signals: Mapping[Signal, Mapping[K, float]],
    weights: Mapping[Signal, float],
    limit: int,
    strengths: Mapping[Signal, Mapping[K, float]] | None = None,
) -> list[FusedHit[K]]:
    """Rank candidates by the weighted mean of their strengths, ties by id; best `limit`.

    `signals` holds each signal's own score of each candidate, `strengths` the same candidates'
    strengths in [0, 1]; by default each signal's scores are brought into [0, 1]. A signal that is
    left out, found nothing or has weight 0 costs the others nothing; one that fired counts as 0 for
    a candidate that it has no score for. So pass every candidate's cosine, also of those that only
    other signals found: it is worth five points (docs/decisions/0004-text-analysis-and-fusion.md).
    Weights are relative. Raises InvalidInput if one is negative or not finite, or all are zero.
    """
    fused = Fused(signals, weights, strengths)
    return fused.hits(fused.best(limit))


class Fused(Generic[K]):
    """Candidates with their fused scores, as `fuse` ranks them; the shares of signals are computed on demand."""

    def __init__(
        self,
        signals: Mapping[Signal, Mapping[K, float]],
        weights: Mapping[Signal, float],
        strengths: Mapping[Signal, Mapping[K, float]] | None = None,
    ) -> None:
        """Fuse. Raises InvalidInput as `fuse`."""
        _check_weights(weights)
        fired = _fired(signals, weights)
        self._signals = signals
        self._weight = _summing_to_one({signal: weights[signal] for signal in fired})
        self._strengths = {
            signal: _normalised(signal, signals[signal]) if strengths is None else strengths[signal]
            for signal in fired
        }
        self.scores = _mean(self._strengths, self._weight)

    def best(self, limit: int) -> list[K]:
        """Return the best candidates, ties by id."""
        best = nsmallest(limit, ((-score, id) for id, score in self.scores.items()))
        return [id for _, id in best]

    def hits(self, ids: Iterable[K]) -> list[FusedHit[K]]:
        """Return some of the candidates, in the order given, each with the shares of its score."""
        ranks = {signal: _ranks(strengths) for signal, strengths in self._strengths.items()}

        def share(signal: Signal, id: K) -> Share:
            weight, score = self._weight[signal], self.scores[id]
            value = self._strengths[signal].get(id, 0.0)
            part = weight * value / score if score > 0 else 0.0
            raw, rank = self._signals[signal].get(id), ranks[signal].get(id)
            return Share(signal, raw, value, rank, weight, part)

        return [
            FusedHit(id, self.scores[id], tuple(share(signal, id) for signal in self._weight))
            for id in ids
        ]


def fuse_scores(
    strengths: Mapping[Signal, Mapping[K, float]], weights: Mapping[Signal, float]
) -> dict[K, float]:
    """Return the weighted mean of strengths, in [0, 1], of every candidate."""
    _check_weights(weights)
    fired = _fired(strengths, weights)
    return _mean(strengths, _summing_to_one({signal: weights[signal] for signal in fired}))


def _fired(
    signals: Mapping[Signal, Mapping[K, float]], weights: Mapping[Signal, float]
) -> list[Signal]:
    return [signal for signal in Signal if signals.get(signal) and weights.get(signal, 0) > 0]


def _normalised(signal: Signal, scores: Mapping[K, float]) -> dict[K, float]:
    # The graph walk's scores are in [0, 1] already.
    return dict(scores) if signal is Signal.GRAPH else minmax(scores)


def _mean(
    normalised: Mapping[Signal, Mapping[K, float]], weight: Mapping[Signal, float]
) -> dict[K, float]:
    means: dict[K, float] = {}
    for signal, share in weight.items():
        for id, strength in normalised[signal].items():
            means[id] = means.get(id, 0.0) + share * strength
    return means


def _check_weights(weights: Mapping[Signal, float]) -> None:
    for signal, weight in weights.items():
        if not (isfinite(weight) and weight >= 0):
            raise InvalidInput(
                f"{signal}_weight", "a number of zero or more, not {given}", given=weight
            )
    if not any(weights.values()):
        named = ", ".join(f"{signal}_weight" for signal in weights)
        raise InvalidInput(named, "above zero, at least one of them")


def _summing_to_one(weights: Mapping[Signal, float]) -> dict[Signal, float]:
    heaviest = max(weights.values(), default=1.0)
    scaled = {signal: weight / heaviest for signal, weight in weights.items()}
    total = fsum(scaled.values())
    return {signal: weight / total for signal, weight in scaled.items()}


def _ranks(scores: Mapping[K, float]) -> dict[K, int]:
    return {id: place for place, id in enumerate(_best_first(scores), start=1)}


def _best_first(scores: Mapping[K, float]) -> list[K]:
    return [id for _, id in sorted((-score, id) for id, score in scores.items())]
