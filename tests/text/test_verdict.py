"""Verdicts: what a person is told of a hit in place of a number."""

import pytest

from minutebook.text.answerability import Verdict, verdict_of


@pytest.mark.parametrize(
    ("relevance", "verdict"),
    [(0.9, Verdict.LIKELY), (0.4, Verdict.POSSIBLE), (0.1, Verdict.UNLIKELY)],
)
def test_relevance_in_a_word(relevance: float, verdict: Verdict) -> None:
    assert verdict_of(relevance) is verdict
