"""Signals as numbers that mean the same for every question."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.models.built_in.builtin import UNRELATED
from minutebook.text.calibration import (
    ABOUT_MIDDLE,
    ABOUT_SLOPE,
    CUT,
    UNRELATED_COSINE,
    WORDS_MIDDLE,
    WORDS_SLOPE,
    expectations,
    rank_score,
    relevance,
    strength_of_bm25,
    strength_of_cosine,
    strength_of_late,
)

ROOT = Path(__file__).resolve().parents[2]


def expected(cosine: float, bm25: float) -> float:
    ((negative, _),) = expectations(["a"], {"a": cosine}, {"a": bm25}, UNRELATED_COSINE)
    return -negative


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_more_is_never_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    for strength in (
        strength_of_late,
        lambda value: strength_of_cosine(value, UNRELATED_COSINE),
        lambda value: strength_of_cosine(value, 0.0),
        lambda value: strength_of_bm25(value * 50),
        lambda value: expected(value, 10.0),
        lambda value: expected(0.8, value * 50),
        lambda value: relevance(strength_of_late(value)),
    ):
        assert 0 <= strength(low) <= strength(high) <= 1


@pytest.mark.parametrize(
    ("late", "is_about"), [(0.0, False), (0.16, False), (0.23, False), (0.3, True), (0.5, True)]
)
def test_the_cut_lies_between_unrelated_texts_and_answers(late: float, is_about: bool) -> None:
    assert (relevance(strength_of_late(late)) >= CUT) is is_about


def test_relevance_is_near_nothing_for_the_usual_unrelated_text() -> None:
    assert relevance(strength_of_late(0.1)) < 0.06
    assert relevance(strength_of_late(0.5)) > 0.98


@pytest.mark.parametrize(
    ("usual", "unrelated", "alike"), [(UNRELATED_COSINE, 0.76, 0.86), (0.0, 0.15, 0.5)]
)
def test_a_cosine_counts_from_what_unrelated_texts_of_its_model_have(
    usual: float, unrelated: float, alike: float
) -> None:
    assert relevance(strength_of_cosine(unrelated, usual)) < CUT
    assert relevance(strength_of_cosine(alike, usual)) > CUT


def test_one_common_word_says_little_and_several_rare_ones_much() -> None:
    assert strength_of_bm25(3.0) < 0.1
    assert strength_of_bm25(30.0) > 0.6
    assert strength_of_bm25(-1.0) == 0


def test_the_rank_score_weighs_meaning_importance_and_freshness() -> None:
    assert rank_score(1.0, 10, timedelta()) == pytest.approx(1.0)
    assert rank_score(0.5, 5, timedelta(days=30)) == pytest.approx(0.3 + 0.15 + 0.05)
    assert rank_score(0.5, 5, timedelta(days=15)) == pytest.approx(0.3 + 0.15 + 0.075)
    assert rank_score(0.0, 0, timedelta(days=600)) == pytest.approx(0.05)


def test_the_fitted_constants_are_those_of_the_figures_that_are_kept() -> None:
    kept = json.loads((ROOT / "docs" / "calibration.json").read_text(encoding="utf-8"))
    assert kept["constants"] == {
        "ABOUT_SLOPE": ABOUT_SLOPE,
        "ABOUT_MIDDLE": ABOUT_MIDDLE,
        "UNRELATED": UNRELATED,
    }
    assert kept["cut"] == CUT


def test_the_fitted_constants_of_words_are_those_of_the_figures_that_are_kept() -> None:
    kept = json.loads((ROOT / "docs" / "calibration_words.json").read_text(encoding="utf-8"))
    assert kept["constants"] == {"WORDS_SLOPE": WORDS_SLOPE, "WORDS_MIDDLE": WORDS_MIDDLE}
    assert kept["cut"] == CUT


def test_relevance_is_the_share_of_answers_where_it_was_fitted() -> None:
    kept = json.loads((ROOT / "docs" / "calibration.json").read_text(encoding="utf-8"))
    parts = kept["reliability"]["all"]
    off = sum(each["weight"] * abs(each["relevance"] - each["answers"]) for each in parts)
    assert off < 0.05
