"""Errors in the words of the command line."""

from minutebook.domain.errors import (
    Conflict,
    Decided,
    EmbeddingNotReady,
    GuessedTooOften,
    InvalidArchive,
    InvalidRoot,
    Locked,
    MinutebookError,
    NotFound,
    Refused,
    UnderReview,
)

_LISTS = {
    "memory": "list",
    "token": "token list",
    "project": "projects",
    "session": "sessions",
    "decision": "decisions",
    "proposal": "proposals",
    "suggestion": "tidy",
}
"""The command that lists the records of a kind."""


def sentence(error: MinutebookError) -> str:
    """Say to a person what stood in the way."""
    match error:
        case NotFound(kind=kind, id=id):
            way = f"; `minutebook {_LISTS[kind]}` shows those there are" if kind in _LISTS else ""
            return f"there is no {kind} {id}{way}"
        case UnderReview(id=id, reason=reason, opens=opens):
            return f"{id}: {reason}; accept it from {opens:%Y-%m-%d %H:%M:%S} UTC on"
        case GuessedTooOften(reason=reason, opens=opens):
            return f"{reason}; the next is looked at from {opens:%Y-%m-%d %H:%M:%S} UTC on"
        case Locked(id=id, reason=reason, needs=needs):
            way = "" if needs is None else f"; first `minutebook unlock {id} --role {needs}`"
            return f"{id} stays as it is: {reason}{way}"
        case Refused(act=act, reason=reason, needs=needs):
            way = "" if needs is None else f"; if you are one, add `--role {needs}`"
            return f"not allowed to {act}: {reason}{way}"
        case Decided(id=id, reason=reason):
            return f"{id}: {reason} with `--supersedes {id}`"
        case EmbeddingNotReady(state="loading"):
            return f"{error}; try again soon"
        case EmbeddingNotReady(reason=reason):
            return f"the embedding model cannot be used: {reason}"
        case InvalidArchive(path=path, reason=reason, line=line):
            where = "" if line is None else f", line {line}"
            return f"{path}{where}: {reason}. Nothing was changed"
        case InvalidRoot(path=path, reason=reason):
            return f"{path} {reason}"
        case Conflict(id=id, reason=reason):
            return f"{id}: {reason}"
        case _:
            return str(error)
