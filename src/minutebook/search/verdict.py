"""Say in a word how well a hit answers: a person reads no percentage of a fused score."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from minutebook.search.answerability import LIKELY_FROM, POSSIBLE_FROM
from minutebook.search.calibration import CUT, relevance, strength_of_late
from minutebook.search.fusion import FusedHit, Signal

LIKELY = 0.5
"""The strength of a text that says much of what is asked; from a relevance of CUT on it is about it."""


class Verdict(StrEnum):
    """How well a hit answers; UNMEASURED where no model has said anything of it."""

    LIKELY = "likely"
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"
    UNMEASURED = "unmeasured"


def verdict_of_text(hit: FusedHit[Any], details: Mapping[str, float]) -> Verdict:
    """Return the verdict on a memory or a decision, by its own strength, without its context.

    Words that match well, and a way through the graph, make an answer possible by themselves.
    """
    shares = {each.signal: each for each in hit.shares}
    vector = shares.get(Signal.VECTOR)
    if vector is None or vector.raw is None:
        return Verdict.UNMEASURED
    late = details.get("late interaction")
    strength = vector.normalised if late is None else strength_of_late(late)
    if strength >= LIKELY:
        return Verdict.LIKELY
    lexical, graph = shares.get(Signal.LEXICAL), shares.get(Signal.GRAPH)
    has_words = lexical is not None and lexical.normalised >= CUT
    has_way = graph is not None and graph.share > 0
    is_possible = relevance(strength) >= CUT or has_words or has_way
    return Verdict.POSSIBLE if is_possible else Verdict.UNLIKELY


def verdict_of_relevance(relevance: float) -> Verdict:
    """Return the verdict on a hit of which a search says how likely it is about the question."""
    if relevance >= LIKELY_FROM:
        return Verdict.LIKELY
    return Verdict.POSSIBLE if relevance >= POSSIBLE_FROM else Verdict.UNLIKELY
