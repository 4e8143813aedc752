"""Where an answer to a question may come from."""

from enum import StrEnum


class Source(StrEnum):
    """The source of a hit: a memory, a decision, a session's turn or summary, or code."""

    MEMORY = "memory"
    DECISION = "decision"
    SESSION = "session"
    CODE = "code"


TEXTS = (Source.MEMORY, Source.DECISION, Source.SESSION)
"""The sources that a question is asked of unless settings narrow them; code is asked by name."""
