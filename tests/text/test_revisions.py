"""Which text revises which: tables and properties, without a model and with made states."""

import tracemalloc
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.late_interaction import TokenStates
from minutebook.text.revisions import DatedText, chance, revisions
from minutebook.text.signs import figures
from tests.packed import packed_of

BEGIN = datetime(2026, 3, 4, tzinfo=UTC)


def said(*texts: str) -> list[DatedText]:
    return [DatedText(text, BEGIN + timedelta(days=day)) for day, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("older", "newer", "old", "new"),
    [
        ("Marta lives in Lisbon.", "Marta lives in Porto.", "Lisbon", "Porto"),
        ("Die Garantie gilt 2 Jahre.", "Die Garantie gilt 5 Jahre.", "2", "5"),
    ],
)
def test_another_value_of_the_same_is_told_with_what_differs(older, newer, old, new):
    found = revisions(said(older, newer), least=0.0)
    assert found[0].newer == 1
    assert (found[0].old, found[0].new) == (old, new)


@pytest.mark.parametrize(
    ("word", "number", "languages"),
    [
        ("three", "3", ("english",)),
        ("drei", "3", ("german",)),
        ("quatre", "4", ("french",)),
        ("drei", None, ("english",)),
        ("quatre", "4", ("german", "french")),
        ("three", "3", ()),
        ("42", "42", ("english",)),
        ("tree", None, ("english",)),
    ],
)
def test_a_number_is_read_in_figures_and_as_a_word_of_its_language(word, number, languages):
    assert figures(word, languages) == number


def test_a_number_as_a_word_is_the_value_that_differs():
    found = revisions(said("The trial lasts two weeks.", "The trial lasts 3 weeks."), least=0.0)
    assert (found[0].old, found[0].new) == ("two", "3")


def test_the_newer_one_revises_in_whatever_order_they_are_given():
    texts = said("Marta lives in Lisbon.", "Marta lives in Porto.")
    assert set(revisions(texts, least=0.0)) == {0}
    assert set(revisions(texts[::-1], least=0.0)) == {1}


def test_of_two_said_at_once_neither_revises_the_other():
    texts = [DatedText("The limit is 10 MB.", BEGIN), DatedText("The limit is 20 MB.", BEGIN)]
    assert revisions(texts, least=0.0) == {}


def test_the_odds_fall_as_texts_have_more_sentences_that_may_look_alike_by_accident():
    older, newer = "Marta lives in Lisbon.", "Marta lives in Porto."
    beside = [f" {word} sings aloud." for word in ("Ida", "Ole", "Ben", "Una")]
    chances = []
    for more in range(5):
        one, other = said(older + "".join(beside[:more]), newer + "".join(beside[:more]))
        chances.append(revisions([one, other], least=0.0)[0].chance)
    # Up to two sentences in either, all pairs of sentences are compared.
    assert chances[1] == pytest.approx(chances[0])
    odds = [each / (1 - each) for each in chances]
    for count in (3, 4, 5):
        assert odds[count - 1] < 1.01 * odds[0] * 4 / count**2


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_chance_is_a_share_and_the_same_each_time(older, newer):
    one, other = said(older, newer)
    found = chance(other, one)
    assert 0 <= found <= 1
    assert found == chance(other, one)
    assert chance(one, other) == 0


@given(st.text(max_size=80))
def test_what_is_said_again_revises_nothing(text):
    one, other = said(text, text)
    assert chance(other, one) == 0


def spelled(pieces):
    return [f"▁{WORDS[each]}" for each in pieces]


WORDS = ("the", "archive", "closes", "on", "Monday", "Friday", "garage", "opens", "now")


def with_states(text: str, day: int, seed: int = 3) -> DatedText:
    """Return a text of WORDS with made states: those of a word are much the same wherever it stands."""
    chance = np.random.RandomState(seed)
    of_words = chance.randn(len(WORDS), 384).astype(np.float32)
    pieces = np.array([WORDS.index(each) for each in text.rstrip(".").split()], np.int32)
    noise = np.random.RandomState(len(text)).randn(len(pieces), 384).astype(np.float32)
    states = of_words[pieces] + 0.4 * noise
    tokens = TokenStates(pieces, np.ones(len(pieces), np.float32), states)
    return DatedText(text, BEGIN + timedelta(days=day), packed_of(tokens))


def test_states_and_words_may_stand_beside_one_another():
    texts = [
        with_states("the archive closes on Monday.", 0),
        with_states("the archive closes on Friday.", 1),
        DatedText("the garage opens on Monday.", BEGIN + timedelta(days=2)),
    ]
    found = revisions(texts, spelled, least=0.0)
    assert (found[0].newer, found[0].old, found[0].new) == (1, "Monday", "Friday")
    assert all(0 <= each.chance <= 1 for each in found.values())
    assert found == revisions(texts, spelled, least=0.0)


def test_damaged_states_are_read_as_words_at_worst():
    whole, other = (with_states(f"the archive closes on {day}.", 0) for day in ("Monday", "Friday"))
    assert whole.states is not None
    texts = [whole, DatedText(other.text, BEGIN + timedelta(days=1), b"")]
    assert revisions(texts, spelled, least=0.0)[0].newer == 1


def test_a_long_text_is_compared_by_its_first_sentences():
    text = "The archive closes on Monday. " + "Nothing else is known of it. " * 2_000
    one, other = said("The archive closes on Friday.", text)
    found = revisions([one, other], least=0.0)
    assert (found[0].old, found[0].new) == ("Friday", "Monday")


def test_long_texts_take_as_little_memory_as_short_ones():
    pieces = 25_600
    tokens = TokenStates(
        np.zeros(pieces, np.int32),
        np.ones(pieces, np.float32),
        np.random.RandomState(1).standard_normal((pieces, 128)).astype(np.float32),
    )
    states, text = packed_of(tokens), f"{WORDS[0]} is {WORDS[1]}. " * 6_400
    texts = [DatedText(f"{day} {text}", BEGIN + timedelta(days=day), states) for day in range(3)]
    tracemalloc.start()
    try:
        revisions(texts, spelled, least=0.0)
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()
