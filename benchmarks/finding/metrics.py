"""Score rankings against relevant documents, and compute how sure a mean is."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

CUTS = (1, 5, 10, 20)
"""The numbers of results at which recall is measured."""

NDCG_CUT = 10

METRICS = (
    *(f"any@{cut}" for cut in CUTS),
    *(f"share@{cut}" for cut in CUTS),
    f"NDCG@{NDCG_CUT}",
    "MRR",
)

RESAMPLES = 2_000
AREA_RESAMPLES = 200
"""Fewer, since each of them sorts all scores."""

Interval: TypeAlias = tuple[float, float, float]
"""A figure and the ends of its 95 % interval."""


def score(ranked: Sequence[str], relevant: Mapping[str, float]) -> dict[str, float]:
    """Score a ranking, best first, against the gains of the relevant documents; each score in [0, 1].

    `any@k` is 1 if the best k hold something relevant, `share@k` the part of the relevant that they
    hold. NDCG is that of Järvelin and Kekäläinen (2002), MRR one by the rank of the first relevant.
    An id counts where it stands first. Raises ValueError if nothing is relevant or a gain is not
    above zero.
    """
    if not relevant or not all(gain > 0 for gain in relevant.values()):
        raise ValueError("a ranking is scored against at least one gain, each above zero")
    places = {id: rank for rank, id in enumerate(dict.fromkeys(ranked), 1) if id in relevant}
    found = {cut: sum(rank <= cut for rank in places.values()) for cut in CUTS}
    ideal = sorted(relevant.values(), reverse=True)[:NDCG_CUT]
    gained = [(rank, relevant[id]) for id, rank in places.items() if rank <= NDCG_CUT]
    return {
        **{f"any@{cut}": float(found[cut] > 0) for cut in CUTS},
        **{f"share@{cut}": found[cut] / len(relevant) for cut in CUTS},
        f"NDCG@{NDCG_CUT}": _discounted(gained) / _discounted(list(enumerate(ideal, 1))),
        "MRR": 1 / min(places.values()) if places else 0.0,
    }


def _discounted(gains: Sequence[tuple[int, float]]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in gains)


def interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Return the mean and its 95 % interval by the percentile bootstrap (Efron, 1979)."""
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(seed)
    # A block at a time: thousands of values times thousands of resamples do not fit into memory.
    means = [
        sample[random.integers(0, len(sample), (100, len(sample)))].mean(axis=1)
        for _ in range(RESAMPLES // 100)
    ]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(sample.mean()), float(low), float(high)


def roc_area(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return the area under the ROC curve: how often a positive scores above a negative.

    Ties count half (Mann and Whitney, 1947). NaN without any of either.
    """
    if not len(positives) or not len(negatives):
        return math.nan
    ordered = np.sort(np.asarray(negatives, dtype=np.float64))
    below = np.searchsorted(ordered, positives, side="left")
    at_most = np.searchsorted(ordered, positives, side="right")
    return float((below + at_most).mean() / (2 * len(ordered)))


def area_interval(
    positives: Sequence[float], negatives: Sequence[float], seed: int = 0
) -> Interval:
    """Return the area under the ROC curve and its interval; positives and negatives are resampled apart."""
    random = np.random.default_rng(seed)
    drawn = [
        [random.choice(scores, len(scores)).tolist() for scores in (positives, negatives)]
        for _ in range(AREA_RESAMPLES)
    ]
    areas = [roc_area(high, low) for high, low in drawn]
    ends = np.percentile(areas, [2.5, 97.5])
    return roc_area(positives, negatives), float(ends[0]), float(ends[1])
