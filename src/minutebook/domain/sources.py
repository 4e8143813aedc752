"""Where an answer to a question may come from."""

from enum import StrEnum


class Source(StrEnum):
    """The source of a hit: a memory, a decision, a session's turn or summary, code, or a commit."""

    MEMORY = "memory"
    DECISION = "decision"
    SESSION = "session"
    CODE = "code"
    COMMIT = "commit"


TEXTS = (Source.MEMORY, Source.DECISION, Source.SESSION, Source.COMMIT)
"""The sources that a question is asked of unless settings narrow them; code is asked by name."""
