import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.finding.metrics import METRICS, area_interval, interval, roc_area, score

ONE = 1 / math.log2(2)
TWO = 1 / math.log2(3)
THREE = 1 / math.log2(4)

# A ranking, the gains of what is relevant, and figures worked out by hand.
TABLE: list[tuple[list[str], Mapping[str, float], Mapping[str, float]]] = [
    (["a"], {"a": 1}, {"any@1": 1, "share@1": 1, "NDCG@10": 1, "MRR": 1}),
    (["x", "a"], {"a": 1}, {"any@1": 0, "any@5": 1, "share@5": 1, "NDCG@10": TWO, "MRR": 0.5}),
    (
        ["x", "a", "y", "b"],
        {"a": 1, "b": 1, "c": 1},
        {
            "share@5": 2 / 3,
            "NDCG@10": (TWO + 1 / math.log2(5)) / (ONE + TWO + THREE),
            "MRR": 0.5,
        },
    ),
    # The better answer stands second.
    (["b", "a"], {"a": 3, "b": 1}, {"NDCG@10": (ONE + 3 * TWO) / (3 * ONE + TWO), "MRR": 1}),
    # Beyond the tenth place: no NDCG, but recall at twenty and a reciprocal rank.
    (
        [*map(str, range(10)), "a"],
        {"a": 1},
        {"any@10": 0, "any@20": 1, "share@10": 0, "share@20": 1, "NDCG@10": 0, "MRR": 1 / 11},
    ),
    (["x", "x", "a"], {"a": 1}, {"MRR": 0.5, "NDCG@10": TWO}),
    ([], {"a": 1}, {"any@20": 0, "share@20": 0, "NDCG@10": 0, "MRR": 0}),
]


@pytest.mark.parametrize(("ranked", "relevant", "expected"), TABLE)
def test_a_ranking_is_scored_as_by_hand(
    ranked: list[str], relevant: Mapping[str, float], expected: Mapping[str, float]
) -> None:
    scores = score(ranked, relevant)
    assert set(scores) == set(METRICS)
    assert {name: scores[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("relevant", [{}, {"a": 0.0}, {"a": 1.0, "b": -1.0}])
def test_a_ranking_is_not_scored_against_nothing(relevant: Mapping[str, float]) -> None:
    with pytest.raises(ValueError, match="at least one gain"):
        score(["a"], relevant)


ids = st.sampled_from("abcdefghijklmnopqrstuvwxyz")
rankings = st.lists(ids, unique=True)
gains = st.dictionaries(ids, st.floats(0.1, 5), min_size=1)


@given(rankings, gains)
def test_scores_lie_between_0_and_1_and_grow_with_the_number_of_results(
    ranked: list[str], relevant: Mapping[str, float]
) -> None:
    scores = score(ranked, relevant)
    assert all(0 <= each <= 1 + 1e-9 for each in scores.values())
    for kind in ("any", "share"):
        at = [scores[f"{kind}@{cut}"] for cut in (1, 5, 10, 20)]
        assert at == sorted(at)
    assert scores["any@1"] <= scores["MRR"] <= 1


@given(rankings, gains)
def test_what_is_relevant_scores_no_less_when_it_moves_to_the_front(
    ranked: list[str], relevant: Mapping[str, float]
) -> None:
    first = max(relevant, key=lambda each: relevant[each])
    moved = score([first, *(each for each in ranked if each != first)], relevant)
    before = score(ranked, relevant)
    assert all(moved[name] >= before[name] - 1e-9 for name in METRICS)


@given(gains)
def test_the_ideal_ranking_has_an_ndcg_of_1(relevant: Mapping[str, float]) -> None:
    ideal = sorted(relevant, key=lambda each: -relevant[each])
    assert score(ideal, relevant)["NDCG@10"] == pytest.approx(1)


def test_an_interval_holds_its_mean_and_narrows_with_more_values() -> None:
    drawn = np.random.default_rng(1).integers(0, 2, 400).tolist()
    mean, low, high = interval(drawn)
    assert mean == pytest.approx(np.mean(drawn))
    assert low < mean < high
    # The normal approximation: 1.96 standard errors to either side.
    assert high - low == pytest.approx(2 * 1.96 * np.std(drawn) / 20, rel=0.1)
    few = interval(drawn[:25])
    assert few[2] - few[1] > high - low
    assert interval([3.0, 3.0]) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize(
    ("positives", "negatives", "area"),
    [
        ([2, 3], [0, 1], 1.0),
        ([0, 1], [2, 3], 0.0),
        ([1, 1], [1, 1], 0.5),
        # Of the six pairs four are in order and one is a tie.
        ([1, 2, 3], [1, 2], (0.5 + 1 + 0.5 + 2) / 6),
    ],
)
def test_the_area_under_the_curve_counts_ordered_pairs(
    positives: list[float], negatives: list[float], area: float
) -> None:
    assert roc_area(positives, negatives) == pytest.approx(area)


def test_without_positives_or_negatives_there_is_no_area() -> None:
    assert math.isnan(roc_area([], [1.0]))
    assert math.isnan(roc_area([1.0], []))


scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1)


@given(scores, scores)
def test_the_area_is_that_of_all_pairs_and_its_mirror_is_the_rest(
    positives: list[float], negatives: list[float]
) -> None:
    pairs = [(one > other) + (one == other) / 2 for one in positives for other in negatives]
    assert roc_area(positives, negatives) == pytest.approx(sum(pairs) / len(pairs))
    assert roc_area(positives, negatives) + roc_area(negatives, positives) == pytest.approx(1)


def test_an_area_comes_with_an_interval_that_holds_it() -> None:
    random = np.random.default_rng(2)
    high, low = random.normal(1, 1, 200).tolist(), random.normal(0, 1, 200).tolist()
    area, bottom, top = area_interval(high, low)
    assert bottom < area < top
    assert top - bottom < 0.12
