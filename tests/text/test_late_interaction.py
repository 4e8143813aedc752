"""Late interaction: tokens packed as signs, compared with a question's."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.late_interaction import OTHER_SCORE, Question, TokenStates, likeness, whole
from tests.packed import packed_of

WIDTH = 128


def direction(piece: int) -> np.ndarray:
    """Return the state of a piece: the same for the same piece, about orthogonal to all others."""
    return np.random.RandomState(piece).standard_normal(WIDTH).astype(np.float32)


def tokens(*pieces: int, surprise: float = 10.0, silent: tuple[int, ...] = ()) -> TokenStates:
    """Make tokens whose states are those of their pieces; the `silent` ones say nothing."""
    states = np.stack([direction(piece) for piece in pieces]) if pieces else np.zeros((0, WIDTH))
    told = np.array([0.0 if piece in silent else surprise for piece in pieces], np.float32)
    return TokenStates(np.array(pieces, np.int32), told, states.astype(np.float32))


texts = st.lists(st.integers(0, 40), max_size=12).map(lambda pieces: tokens(*pieces))


def test_the_text_that_holds_the_question_s_tokens_scores_best() -> None:
    found = Question(tokens(1, 2, 3)).late([packed_of(tokens(4, 5)), packed_of(tokens(9, 1, 2, 3))])
    assert found.argmax() == 1
    assert found[1] > 0.7 > 0.4 > found[0]


def test_a_text_for_which_the_model_gave_no_tokens_scores_nothing() -> None:
    question = Question(tokens(1))
    assert question.late([b"", b""]).tolist() == [0, 0]
    assert question.late([b"", packed_of(tokens(1))]).tolist()[0] == 0


def test_a_token_that_every_text_holds_weighs_less_than_one_that_few_hold() -> None:
    packed = [packed_of(tokens(1, 50 + n)) for n in range(300)] + [packed_of(tokens(2, 49))]
    found = Question(tokens(1, 2)).late(packed)
    assert found.argmax() == 300
    assert found[300] > found[0] + 0.2


def test_a_piece_that_is_frequent_in_general_weighs_less_where_texts_are_few() -> None:
    question = TokenStates(
        np.array([1, 2], np.int32),
        np.array([3.0, 12.0], np.float32),
        np.stack([direction(1), direction(2)]),
    )
    frequent, rare = Question(question).late([packed_of(tokens(1)), packed_of(tokens(2))])
    assert rare > frequent + 0.2


def test_tokens_that_say_nothing_are_left_out_unless_there_are_no_others() -> None:
    assert packed_of(tokens(1, 2, silent=(2,))) == packed_of(tokens(1))
    assert len(packed_of(tokens(1, 2, silent=(1, 2)))) == len(packed_of(tokens(1, 2)))


def test_a_state_takes_one_bit_a_dimension_and_three_bytes_more() -> None:
    assert len(packed_of(tokens(*range(10)))) - len(packed_of(tokens())) == 10 * (WIDTH // 8 + 3)


def test_a_piece_of_three_bytes_is_told_apart() -> None:
    apart = Question(tokens(250_001)).late(
        [packed_of(tokens(250_001)), packed_of(tokens(250_001 & 0xFFFF))]
    )
    assert apart[0] > apart[1]


@given(texts, st.lists(texts, max_size=6))
def test_scores_are_finite_in_range_and_one_for_each_text(
    question: TokenStates, others: list[TokenStates]
) -> None:
    found = Question(question).late([packed_of(each) for each in others])
    assert found.shape == (len(others),)
    assert ((found >= 0) & (found <= 1 + 1e-5)).all()
    for score, text in zip(found, others, strict=True):
        assert len(text.pieces) or score == 0


@given(texts, st.lists(texts, min_size=1, max_size=6), st.randoms())
def test_the_order_of_texts_does_not_matter(
    question: TokenStates, others: list[TokenStates], random: object
) -> None:
    packed = [packed_of(each) for each in others]
    order = list(range(len(packed)))
    random.shuffle(order)  # type: ignore[attr-defined]
    asked = Question(question)
    np.testing.assert_allclose(
        asked.late([packed[n] for n in order]), asked.late(packed)[order], rtol=1e-5, atol=1e-6
    )


@given(texts, st.none() | texts, st.data())
def test_damaged_tokens_are_told_from_whole_ones(
    text: TokenStates, english: TokenStates | None, data: st.DataObject
) -> None:
    packed = packed_of(text, english)
    at = data.draw(st.integers(0, 10))
    flipped = (
        packed[:at] + bytes([packed[at] ^ 1 << data.draw(st.integers(0, 7))]) + packed[at + 1 :]
    )
    torn = packed[: data.draw(st.integers(0, len(packed) - 1))]
    assert whole({"whole": packed, "flipped": flipped, "torn": torn, "none": b""}) == (
        {"whole": packed} if len(text.pieces) else {}
    )


@given(texts, texts, st.lists(st.tuples(texts, st.none() | texts), max_size=6))
def test_a_second_section_is_compared_with_english_questions_alone(
    asked: TokenStates,
    in_english: TokenStates,
    others: list[tuple[TokenStates, TokenStates | None]],
) -> None:
    packed = [packed_of(text, english) for text, english in others]
    cosines = np.zeros(len(packed), np.float32)
    late = Question(asked).late([packed_of(text) for text, _ in others])
    np.testing.assert_array_equal(Question(asked, in_english).late(packed), late)
    constant, weight, _ = OTHER_SCORE
    alone = Question(asked).scores(packed, cosines)
    scores = Question(asked, in_english).scores(packed, cosines)
    assert scores.shape == (len(others),)
    for score, other, own, (text, english) in zip(scores, alone, late, others, strict=True):
        expected = constant + weight * own if len(text.pieces) else 0.0
        assert other == pytest.approx(expected, abs=1e-6)
        if english is None or not len(english.pieces):
            assert score == other


def test_an_english_text_and_question_score_by_both_models() -> None:
    question = Question(tokens(1, 2, 3), tokens(4, 5))
    packed = [packed_of(tokens(1, 2, 3), tokens(4, 5)), packed_of(tokens(1, 2, 3), tokens(8, 9))]
    both, one = question.scores(packed, np.zeros(2, np.float32))
    assert both > one + 0.2


def long_text(seed: int, count: int) -> TokenStates:
    """Make a text of so many tokens, all different."""
    drawn = np.random.RandomState(seed)
    states = drawn.standard_normal((count, WIDTH)).astype(np.float32)
    return TokenStates(
        drawn.randint(1, 250_000, count).astype(np.int32), np.ones(count, np.float32), states
    )


def shifted(text: TokenStates, by: int) -> TokenStates:
    """Put other tokens before a text."""
    joined = [
        np.concatenate([before, own])
        for before, own in zip(long_text(9, by).arrays, text.arrays, strict=True)
    ]
    return TokenStates(*joined)


LIMIT = 60_000
"""About the tokens of a text of 100 KB, if it is dense."""


@pytest.fixture(scope="module")
def longest() -> TokenStates:
    return long_text(1, LIMIT)


def peak_of(work: Callable[[], object]) -> int:
    """Return the bytes that work holds at once, at most, beyond what was held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("by", [0, 1, 100, 5000])
def test_a_long_text_is_like_itself_wherever_it_begins(longest: TokenStates, by: int) -> None:
    one, other = packed_of(longest), packed_of(shifted(longest, by))
    assert likeness(one, other) == likeness(other, one) > 0.8


def test_two_long_texts_about_different_things_are_not_alike(longest: TokenStates) -> None:
    one, other = packed_of(longest), packed_of(long_text(2, LIMIT))
    assert likeness(one, other) < 0.55
    # Compared as wholes each token would find one like it by chance, and more of them the longer they are.
    assert abs(likeness(one, other) - likeness(packed_of(long_text(3, 3000)), other)) < 0.05


def test_a_long_text_that_holds_another_and_more_is_not_like_it(longest: TokenStates) -> None:
    parts = [
        packed_of(TokenStates(*(each[:count] for each in longest.arrays))) for count in (900, 9000)
    ]
    assert max(likeness(part, packed_of(longest)) for part in parts) < 0.55


@pytest.mark.parametrize("other", [1, 2])
def test_to_compare_long_texts_takes_little_memory(longest: TokenStates, other: int) -> None:
    one, second = packed_of(longest), packed_of(long_text(other, LIMIT))
    likeness(packed_of(tokens(1)), packed_of(tokens(1)))
    assert peak_of(lambda: likeness(one, second)) < 30_000_000


def test_a_question_is_compared_with_many_long_texts_in_little_memory(longest: TokenStates) -> None:
    packed, question = packed_of(longest), Question(long_text(4, 60))
    question.late([packed[:0], packed])
    assert peak_of(lambda: question.late([packed] * 12)) < 40_000_000


def test_a_text_scores_the_same_whole_and_among_others_that_fill_a_stretch(
    longest: TokenStates,
) -> None:
    few = [packed_of(long_text(seed, 3)) for seed in (5, 6)]
    asked = TokenStates(*(each[-8:] for each in longest.arrays))
    found = Question(asked).late([few[0], packed_of(longest), few[1], b"", packed_of(asked)])
    assert found.argmax() in (1, 4)
    assert found[1] == pytest.approx(found[4], abs=1e-6)
    assert found[3] == 0
    assert max(found[0], found[2]) < 0.5
