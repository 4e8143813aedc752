"""The sources from which an answer to a question may come."""

from collections.abc import Mapping
from enum import StrEnum

from minutebook.record.records import Kind


class Source(StrEnum):
    """The source of a hit: a memory, a decision, a session's turn or summary, code, or a commit."""

    MEMORY = "memory"
    DECISION = "decision"
    SESSION = "session"
    CODE = "code"
    COMMIT = "commit"


TEXTS = (Source.MEMORY, Source.DECISION, Source.SESSION, Source.COMMIT)
"""The sources that a question searches unless settings narrow them; code is searched only if it is named."""

SOURCES: Mapping[Kind, Source] = {
    Kind.MEMORY: Source.MEMORY,
    Kind.RELATION: Source.MEMORY,
    Kind.DECISION: Source.DECISION,
    Kind.PROPOSAL: Source.DECISION,
    Kind.TURN: Source.SESSION,
    Kind.SUMMARY: Source.SESSION,
    Kind.CHUNK: Source.CODE,
    Kind.COMMIT: Source.COMMIT,
}
"""The source of a hit, by its kind."""
