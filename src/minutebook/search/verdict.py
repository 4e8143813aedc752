"""Say in a word how well a hit answers: a person reads no percentage of a fused score."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from minutebook.search.calibration import CUT, relevance, strength_of_late
from minutebook.search.fusion import Hit, Signal

LIKELY = 0.5
"""The strength of a text that says much of what is asked; from a relevance of CUT on it is about it."""

CODE_LIKELY, CODE_POSSIBLE = 0.73, 0.68
"""Cosines of code with a question less the mean: docs/decisions/0015-code-search.md says of what."""


class Verdict(StrEnum):
    """How well a hit answers; UNMEASURED where no model has said anything of it."""

    LIKELY = "likely"
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"
    UNMEASURED = "unmeasured"


def verdict_of_text(hit: Hit[Any], details: Mapping[str, float]) -> Verdict:
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


def verdict_of_code(cosine: float, *, is_named: bool) -> Verdict:
    """Return the verdict on a piece of code; one that the question names is what is looked for."""
    if is_named or cosine >= CODE_LIKELY:
        return Verdict.LIKELY
    return Verdict.POSSIBLE if cosine >= CODE_POSSIBLE else Verdict.UNLIKELY
