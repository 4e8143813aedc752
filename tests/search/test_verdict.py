"""Verdicts: what a person is told of a hit in place of a number."""

import pytest

from minutebook.search.calibration import strength_of_late
from minutebook.search.fusion import FusedHit, Share, Signal
from minutebook.search.verdict import Verdict, verdict_of_relevance, verdict_of_text


def hit(**strengths: float) -> FusedHit[str]:
    shares = [
        Share(Signal(name), strength, strength, 1, 1.0, 0.5) for name, strength in strengths.items()
    ]
    return FusedHit("a", 0.5, tuple(shares))


@pytest.mark.parametrize(
    ("strengths", "late", "verdict"),
    [
        ({"vector": 0.9}, None, Verdict.LIKELY),
        ({"vector": 0.9}, 0.1, Verdict.UNLIKELY),
        ({"vector": 0.01}, 0.46, Verdict.LIKELY),
        ({"vector": strength_of_late(0.3)}, None, Verdict.POSSIBLE),
        ({"vector": 0.01}, None, Verdict.UNLIKELY),
        ({"vector": 0.01, "lexical": 0.6}, None, Verdict.POSSIBLE),
        ({"vector": 0.01, "lexical": 0.1}, None, Verdict.UNLIKELY),
        ({"vector": 0.01, "graph": 0.1}, None, Verdict.POSSIBLE),
        ({"lexical": 0.9}, None, Verdict.UNMEASURED),
        ({}, None, Verdict.UNMEASURED),
    ],
)
def test_a_text_is_judged_by_its_own_strength(
    strengths: dict[str, float], late: float | None, verdict: Verdict
) -> None:
    details = {} if late is None else {"late interaction": late}
    assert verdict_of_text(hit(**strengths), details) is verdict


@pytest.mark.parametrize(
    ("relevance", "verdict"),
    [(0.9, Verdict.LIKELY), (0.4, Verdict.POSSIBLE), (0.1, Verdict.UNLIKELY)],
)
def test_relevance_in_a_word(relevance: float, verdict: Verdict) -> None:
    assert verdict_of_relevance(relevance) is verdict
