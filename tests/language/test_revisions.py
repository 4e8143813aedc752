"""Which text revises which: tables and properties, without a model and with made states."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.language.revisions import Candidate, chance, revisions

BEGIN = datetime(2026, 3, 4, tzinfo=UTC)


def said(*texts: str) -> list[Candidate]:
    return [Candidate(text, BEGIN + timedelta(days=day)) for day, text in enumerate(texts)]


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


def test_the_newer_one_revises_in_whatever_order_they_are_given():
    texts = said("Marta lives in Lisbon.", "Marta lives in Porto.")
    assert set(revisions(texts, least=0.0)) == {0}
    assert set(revisions(texts[::-1], least=0.0)) == {1}


def test_of_two_said_at_once_neither_revises_the_other():
    texts = [Candidate("The limit is 10 MB.", BEGIN), Candidate("The limit is 20 MB.", BEGIN)]
    assert revisions(texts, least=0.0) == {}


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
