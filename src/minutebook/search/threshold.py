"""Which meanings stand out: how near is nearer than by chance."""

from collections.abc import Sequence
from datetime import timedelta
from math import sqrt
from statistics import NormalDist

NOTHING = 2.0
"""More than any cosine."""

LEAST_LEAD = 0.08
"""The least part of the way from the background to sameness that what stands out must be ahead.

Holds where few records leave their spread unknown; measured in docs/decisions/0008-governance.md.
"""


def expected_false_positives(size: int) -> float:
    """Give how many unrelated records an answer without a limit may hold: √size / 3."""
    return sqrt(size) / 3


def similarity_threshold(background: Sequence[float], size: int, strangers: float) -> float:
    """Give the cosine from which a record stands out from the background of its store.

    `background` holds the query's cosines with some of the store's `size` records. Their middle is
    taken as chance, and the way from there down to the lowest sixth as one deviation, since what
    stands out lies above. So many deviations are asked that of `size` unrelated records about
    `strangers` pass, and a part of the way to 1 at least. Without a background nothing stands out.
    """
    if not background:
        return NOTHING
    ordered = sorted(background)
    middle = ordered[(len(ordered) - 1) // 2]
    deviation = middle - ordered[int((len(ordered) - 1) * 0.1587)]
    share = min(strangers / max(size, len(ordered)), 0.5)
    ahead = NormalDist().inv_cdf(1 - share) * deviation
    return middle + max(ahead, LEAST_LEAD * (1 - middle))


def rank_score(similarity: float, importance: float, age: timedelta) -> float:
    """Weigh meaning, importance (0 to 10) and freshness: 0.6 · s + 0.3 · i / 10 + 0.1 · f.

    Freshness falls from 1 by a sixtieth a day, to 0.5 at the least. The catalog contract's formula.
    """
    freshness = max(0.5, 1 - age / timedelta(days=60))
    return 0.6 * similarity + 0.3 * importance / 10 + 0.1 * freshness
