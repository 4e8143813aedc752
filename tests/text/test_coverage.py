"""The part of a question that texts hold, by words alone."""

import pytest

from minutebook.text.calibration import CUT, strength_of_words
from minutebook.text.coverage import coverage


def test_in_few_texts_all_words_weigh_about_alike_and_a_rare_one_more() -> None:
    held = coverage(["a"], [["a"], ["a"], [], []])
    assert 0.4 < held["a"] < 0.5
    many = [str(number) for number in range(100)]
    among_many = coverage(many, [many, ["7"]])
    assert among_many["7"] == 1
    assert 0 < among_many["8"] < 0.1


def test_a_demanded_phrase_is_held_by_every_text() -> None:
    assert coverage(["a", "b"], [], phrases=1) == {"a": 1, "b": 1}
    held = coverage(["a", "b"], [["b"]], phrases=1)
    assert 0.4 < held["a"] < 0.6 < held["b"]


def test_a_demanded_phrase_weighs_as_a_word_that_one_text_holds() -> None:
    many = [str(number) for number in range(100)]
    assert coverage(many, [["7"]], phrases=1)["8"] == pytest.approx(1 / 2)
    assert coverage(many, [["7"], ["7"]], phrases=2)["8"] == pytest.approx(1 / 2)
    assert coverage(many, [many[:50]], phrases=1)["99"] > 0.7


def test_a_question_without_words_holds_for_nothing() -> None:
    assert coverage(["a"], []) == {"a": 0}


def test_all_of_a_question_is_relevant_and_one_word_of_many_is_not() -> None:
    assert strength_of_words(1.0, 0.0) > 0.95
    assert strength_of_words(0.1, 20.0) < CUT
    assert strength_of_words(0.5, 20.0) > strength_of_words(0.5, 1.0)
    assert 0 <= strength_of_words(0.0, 0.0) < strength_of_words(1.0, 1e9) <= 1
