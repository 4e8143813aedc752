"""Turns of a session, and summaries of sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from minutebook.record.origin import Origin
from minutebook.record.records.record import Kind, TextRecord


class Category(StrEnum):
    """The category of a session's work."""

    BUGFIX = "bugfix"
    FEATURE = "feature"
    REFACTORING = "refactoring"
    DOCUMENTATION = "documentation"
    NEW_APP = "new-app"
    ANALYSIS = "analysis"
    OTHER = "other"


SCORES = ("quality", "productivity", "impact", "complexity")
"""The fields of a summary that are whole numbers from 0 to MOST_SCORE."""

MOST_SCORE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(TextRecord):
    """One prompt, the thought about it and the response, at an instant of a session.

    Turns of one session never share an instant.
    """

    kind: ClassVar[Kind] = Kind.TURN

    session: str
    at: datetime
    prompt: str
    thought: str
    response: str
    author: str
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None

    @property
    def shown_text(self) -> str:
        """The text that a reader is shown: prompt and response, or the thought if both are empty."""
        return "\n".join(filter(None, (self.prompt, self.response))) or self.thought

    @property
    def text(self) -> str:
        """The text that search reads: prompt, thought, response."""
        return "\n".join((self.prompt, self.thought, self.response))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(TextRecord):
    """The summary of a session up to `last_turn`, an id (empty: unknown).

    `at` is when it was summarised. `made_by` names the summarizer, `author` who asked for it.
    `reasons` explains, by name, the SCORES, the `category` and `made_by`.
    """

    kind: ClassVar[Kind] = Kind.SUMMARY

    session: str
    at: datetime
    title: str
    summary: str
    category: Category
    turn_count: int
    quality: int
    productivity: int
    impact: int
    complexity: int
    technologies: tuple[str, ...]
    made_by: str
    reasons: Mapping[str, str]
    last_turn: str
    author: str
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """The text that search reads: title, summary, technologies."""
        return "\n".join((self.title, self.summary, ", ".join(self.technologies)))
