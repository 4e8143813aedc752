"""The chance that a search has found an answer, and how each text shares in it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.answerability import (
    BY_TOKENS,
    BY_VECTORS,
    BY_WORDS,
    LIKELY_FROM,
    OF_CODE,
    POSSIBLE_FROM,
    Coefficients,
    Judgement,
    judge,
    judge_code,
    judge_words,
)

UNRELATED = 0.53

ROOT = Path(__file__).resolve().parents[2]


def judged(late: dict[str, float], texts: int, cosine: float = 0.83) -> Judgement[str]:
    cosines = {key: cosine if each == max(late.values()) else 0.78 for key, each in late.items()}
    return judge(late, cosines, {}, unrelated=UNRELATED, texts=texts, words=7)


def crowd(best: float, others: float, count: int = 40) -> dict[str, float]:
    return {"best": best} | {f"other {number}": others - number / 1000 for number in range(count)}


def test_an_answer_alone_in_its_store_is_likely() -> None:
    assert judged({"only": 0.5}, texts=1, cosine=0.86).chance >= LIKELY_FROM


def test_a_text_about_something_else_alone_in_its_store_is_unlikely() -> None:
    assert judged({"only": 0.16}, texts=1, cosine=0.77).chance < POSSIBLE_FROM


def test_a_text_that_stands_out_says_more_than_one_that_is_best_by_a_hair() -> None:
    out, beside = judged(crowd(0.42, 0.25), texts=1000), judged(crowd(0.42, 0.41), texts=1000)
    assert out.chance > beside.chance + 0.2


def test_the_same_best_text_says_less_where_more_come_near() -> None:
    chances = [judged(crowd(0.36, others), texts=500).chance for others in (0.2, 0.27, 0.34)]
    assert chances == sorted(chances, reverse=True)


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.floats(0, 1), min_size=1),
    st.integers(1, 10**6),
)
def test_relevance_is_the_chance_for_the_best_and_never_more_for_a_weaker_text(
    late: dict[str, float], texts: int
) -> None:
    found = judge(late, {}, {}, unrelated=UNRELATED, texts=texts, words=5)
    ranked = sorted(late, key=lambda key: -late[key])
    relevances = [found.relevance(key) for key in ranked]
    assert relevances[0] == pytest.approx(found.chance, abs=1e-6)
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= each <= 1 for each in relevances)


def test_where_nothing_was_compared_nothing_is_answered() -> None:
    assert judge({}, {}, {}, unrelated=UNRELATED, texts=0, words=3).chance == 0
    assert judge_words({}, {}, texts=50, words=3).chance == 0
    assert judge_code({}, {}, texts=50, words=3).chance == 0


def test_what_has_no_vector_yet_is_possibly_about_the_question() -> None:
    found = judge({"far": 0.1}, {"far": 0.74}, {"new": 9.0}, unrelated=UNRELATED, texts=2, words=4)
    assert found.chance == POSSIBLE_FROM
    assert found.relevance("new") == POSSIBLE_FROM


def test_a_text_that_holds_every_word_is_possibly_about_the_question_and_no_less_than_it_was() -> (
    None
):
    found = judged(crowd(0.6, 0.1), texts=200)
    held = found.at_least_possible({"best", "other 5"})
    assert held.relevance("best") >= found.relevance("best") > LIKELY_FROM
    assert found.relevance("other 5") < POSSIBLE_FROM <= held.relevance("other 5")
    assert held.relevance("other 6") == found.relevance("other 6")


def test_words_alone_tell_a_text_that_holds_the_question_from_one_that_holds_a_word_of_it() -> None:
    whole = judge_words({"a": 0.9, "b": 0.1}, {"a": 12.0, "b": 2.0}, texts=100, words=6)
    part = judge_words({"a": 0.1, "b": 0.1}, {"a": 2.0, "b": 2.0}, texts=100, words=6)
    assert whole.chance >= LIKELY_FROM
    assert part.chance < POSSIBLE_FROM


def test_code_tells_nonsense_from_a_question() -> None:
    answer = {"a": 0.79, "b": 0.70, "c": 0.69, "d": 0.68, "e": 0.67}
    nonsense = {"a": 0.53, "b": 0.52, "c": 0.52, "d": 0.51, "e": 0.50}
    assert judge_code(answer, {"a": 14.0}, texts=300, words=6).chance >= LIKELY_FROM
    assert judge_code(nonsense, {}, texts=300, words=6).chance < POSSIBLE_FROM


@pytest.mark.parametrize(
    ("name", "coefficients"),
    [
        ("BY_TOKENS", BY_TOKENS),
        ("BY_VECTORS", BY_VECTORS),
        ("BY_WORDS", BY_WORDS),
        ("OF_CODE", OF_CODE),
    ],
)
def test_the_coefficients_are_those_of_the_figures_that_are_kept(
    name: str, coefficients: Coefficients
) -> None:
    kept = json.loads((ROOT / "docs" / "calibration_verdict.json").read_text(encoding="utf-8"))
    fitted = kept["forms"][name]["coefficients"]
    assert asdict(coefficients) == fitted | {"weights": tuple(fitted["weights"])}
    assert (kept["possible from"], kept["likely from"]) == (POSSIBLE_FROM, LIKELY_FROM)
