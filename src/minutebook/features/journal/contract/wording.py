"""The domain's facts in the words of the `journal` contract: an error's name, and a message."""

from collections.abc import Mapping
from typing import Any

from minutebook.record.errors import (
    AskedEnough,
    Conflict,
    EmbeddingNotReady,
    InvalidArchive,
    InvalidInput,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreClosed,
    StoreError,
    Unanswered,
)
from minutebook.serve.contracts.answers import Failure

UNREADABLE = "Database connection failed"


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    """Return the failure for an error: its name and a message."""
    name, message = named(error)
    return Failure(f"Tool Error: {name}. Message: {message}", name=name)


def named(error: MinutebookError) -> tuple[str, str]:
    """Return the contract's name of an error, and its message."""
    match error:
        case InvalidInput(argument=argument, remedy=remedy):
            return "Invalid arguments", f"Argument `{argument}` {remedy}."
        case InvalidArchive(path=path, reason=reason, line=line):
            where = path if line is None else f"{path}, line {line}"
            return "Import failed", f"{where}: {reason}. Nothing was changed."
        case Refused(act=act, reason=reason):
            return "Not allowed", f"Not allowed to {act}: {reason}."
        case NotFound(kind=kind, id=id):
            return "Session not found", f"There is no {kind} {id!r}; its turns make a session."
        case Conflict(id=id, reason=reason):
            return "Conflict", f"{id}: {reason}."
        case Unanswered(reason=reason) | AskedEnough(reason=reason):
            return "Summarization failed", f"{reason}."
        case StoreClosed():
            return UNREADABLE, "The database is stopped; start_database opens it again."
        case StoreError(reason=reason):
            return UNREADABLE, f"{reason}."
        case EmbeddingNotReady(state="loading"):
            return "Model not ready", "The model is still loading; try again in a few seconds."
        case EmbeddingNotReady(reason=reason) | ModelUnavailable(reason=reason):
            return "Model not ready", f"The embedding model cannot be used: {reason}."
        case _:
            return "Internal error", str(error)
