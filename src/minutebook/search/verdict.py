"""Say in a word how well a hit answers: a person reads no percentage."""

from enum import StrEnum

from minutebook.search.answerability import LIKELY_FROM, POSSIBLE_FROM

LIKELY = 0.5
"""The strength of a text that says much of what is asked."""


class Verdict(StrEnum):
    """How well a hit answers."""

    LIKELY = "likely"
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"


def verdict_of(relevance: float) -> Verdict:
    """Return the verdict on a hit of which a search says how likely it is about the question."""
    if relevance >= LIKELY_FROM:
        return Verdict.LIKELY
    return Verdict.POSSIBLE if relevance >= POSSIBLE_FROM else Verdict.UNLIKELY
