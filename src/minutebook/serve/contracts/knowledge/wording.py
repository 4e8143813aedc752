"""The domain's facts in the words of the `knowledge` contract."""

import json
from collections.abc import Mapping
from typing import Any

from minutebook.record.errors import (
    Conflict,
    EmbeddingNotReady,
    InvalidInput,
    InvalidRoot,
    Locked,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreError,
)
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.resources import text_of

TEXTS: dict[str, str] = json.loads(text_of(__package__, "contract.json"))["errors"]


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    """Return the failure for an error: a sentence for the model that says cause, subject and remedy."""
    return Failure(_sentence(error))


def _sentence(error: MinutebookError) -> str:
    match error:
        case NotFound(kind=kind, id=id):
            return TEXTS[f"{kind}_not_found"].format(id=id)
        case EmbeddingNotReady(state="error", reason=reason):
            return f"{TEXTS['embedding_not_ready']} The model failed to load: {reason}"
        case EmbeddingNotReady():
            return TEXTS["embedding_not_ready"]
        case ModelUnavailable(reason=reason, remedy=remedy):
            return f"{TEXTS['embedding_not_ready']} {reason}. {remedy}"
        case StoreError(reason=reason):
            return f"{TEXTS['database_error']} Reason: {reason}"
        case InvalidInput(argument=argument, remedy=remedy):
            return f"Invalid argument `{argument}`: {remedy}."
        case Locked(id=id, reason=reason):
            return f"Memory is locked: {id} ({reason}). Unlock it first."
        case Refused(act=act, reason=reason):
            return f"Not allowed to {act}: {reason}."
        case InvalidRoot(path=path, reason=reason):
            return f"{TEXTS['invalid_path'].format(path=path)} ({reason})"
        case Conflict(id=id, reason=reason):
            return f"Conflict with {id}: {reason}."
        case _:
            return str(error)
