"""Errors in the words of the command line."""

from minutebook.domain.errors import (
    Decided,
    EmbeddingNotReady,
    Locked,
    MinutebookError,
    NotFound,
    Refused,
)

_LISTS = {
    "memory": "list",
    "token": "token list",
    "project": "projects",
    "session": "sessions",
    "decision": "decisions",
    "proposal": "decisions --proposed",
    "suggestion": "tidy",
}
"""The command that lists the records of a kind."""


def sentence(error: MinutebookError) -> str:
    """Word an error for a person."""
    match error:
        case NotFound(kind=kind) if kind in _LISTS:
            return f"{error}; `minutebook {_LISTS[kind]}` shows those there are"
        case Locked(id=id, needs=str(needs)):
            return f"{error}; first `minutebook mark {id} unlock --role {needs}`"
        case Refused(needs=str(needs)):
            return f"{error}; if you are one, add `--role {needs}`"
        case Decided(id=id):
            return f"{error} with `--supersedes {id}`"
        case EmbeddingNotReady(state="loading"):
            return f"{error}; try again soon"
        case EmbeddingNotReady(reason=reason):
            return f"the embedding model cannot be used: {reason}"
        case _:
            return str(error)
