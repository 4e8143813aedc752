"""Sentences are scored by what all are about, and none is chosen that says the same as another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.summarizing.salience import SAME, by_words, mmr_select, word_rows

texts = st.lists(
    st.lists(st.sampled_from(["bread", "oven", "flour", "the", "东京", "a.py"]), max_size=5).map(
        " ".join
    ),
    max_size=8,
)


def test_what_shares_words_with_the_rest_scores_higher() -> None:
    shared, lone, empty = by_words(["bread in the oven", "a cormorant", "the of and"])[:3]
    scores = by_words(["bread in the oven", "the oven bakes bread", "a cormorant", "the"])
    assert scores[0] > scores[2]
    assert scores[3] == 0.0
    assert shared > empty
    assert lone > empty


@given(texts)
def test_scores_lie_between_0_and_1_and_are_the_same_each_time(said: list[str]) -> None:
    scores = by_words(said)
    assert all(0.0 <= score <= 1.0 + 1e-9 for score in scores)
    assert scores == by_words(list(said))


@given(texts, st.integers(0, 8))
def test_what_is_chosen_stands_in_order_and_does_not_repeat(said: list[str], count: int) -> None:
    rows = word_rows(said)
    chosen = mmr_select(rows, by_words(said), [], count)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= count
    for one in chosen:
        assert all(float(rows[one] @ rows[other]) <= SAME for other in chosen if other != one)


def test_the_same_said_twice_is_chosen_once() -> None:
    said = ["Bread in the oven.", "bread in the oven", "A cormorant dives."]
    assert mmr_select(word_rows(said), [1.0, 0.9, 0.1], [], 3) == [0, 2]


def test_what_is_given_is_always_among_the_chosen() -> None:
    said = ["one bread", "two ovens", "three flours"]
    assert 2 in mmr_select(word_rows(said), [1.0, 0.9, 0.0], [2], 2)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_of_nothing_nothing_is_chosen(count: int) -> None:
    assert mmr_select(word_rows([]), [], [], count) == []
