from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.search.threshold import expected_false_positives, rank_score, similarity_threshold

cosines = st.floats(-1, 1, allow_nan=False, width=32)  # as stored vectors give them


@given(st.lists(cosines, min_size=1), st.integers(1, 10**6), st.floats(0.1, 10**6))
def test_the_middle_of_the_background_never_stands_out(
    told: list[float], size: int, strangers: float
) -> None:
    least = similarity_threshold(told, size, strangers)
    middle = sorted(told)[(len(told) - 1) // 2]
    assert least >= middle
    assert middle == 1 or least > middle


def test_without_a_background_nothing_stands_out() -> None:
    assert similarity_threshold([], 0, 1) > 1
    assert similarity_threshold([0.7], 1, 1) > 0.7


@pytest.mark.parametrize("size", [1000, 10_000])
@pytest.mark.parametrize("strangers", [10.0, 33.0])
def test_few_of_many_unrelated_ones_pass(size: int, strangers: float) -> None:
    drawn = np.random.default_rng(1).normal(0.75, 0.03, size)
    passed = int((drawn >= similarity_threshold(drawn.tolist(), size, strangers)).sum())
    assert strangers / 3 < passed < 2 * strangers


def test_one_that_is_near_stands_out_of_two() -> None:
    assert 0.74 < similarity_threshold([0.74, 0.86], 2, expected_false_positives(2)) < 0.86


def test_the_rank_score_weighs_meaning_importance_and_freshness() -> None:
    assert rank_score(1.0, 10, timedelta()) == pytest.approx(1.0)
    assert rank_score(0.5, 5, timedelta(days=30)) == pytest.approx(0.3 + 0.15 + 0.05)
    assert rank_score(0.5, 5, timedelta(days=15)) == pytest.approx(0.3 + 0.15 + 0.075)
    assert rank_score(0.0, 0, timedelta(days=600)) == pytest.approx(0.05)
