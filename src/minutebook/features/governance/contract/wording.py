"""The domain's facts in the words of the `governance` contract: a code, its number, a sentence."""

import json
from collections.abc import Mapping
from typing import Any

from minutebook.record.errors import (
    Conflict,
    EmbeddingNotReady,
    Forbidden,
    InvalidInput,
    Locked,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    ScopeViolation,
    StoreError,
)
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.resources import text_of

PROMISE: Mapping[str, Any] = json.loads(text_of(__package__, "contract.json"))
CODES: Mapping[str, Mapping[str, Any]] = PROMISE["errors"]
CONTEXT: Mapping[str, Any] = PROMISE["tools"][0]["inputSchema"]["properties"]["context"]
"""The schema of the context, the same for every tool."""

CONTEXT_RULES: Mapping[str, Any] = PROMISE["tools"][0]["enforce"]["context"]["properties"]


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    """Return the failure for an error: its code, and a message with subject and remedy."""
    code, message = _coded(error, _memory_in(arguments))
    structured = {
        "code": code,
        "number": CODES[code]["number"],
        "message": message,
        "request_id": claims(arguments).get("request_id"),
    }
    return Failure(f"{code}: {message}", structured={"error": structured})


def claims(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return `agent_id` and `request_id` of a call's context, each only if it is well formed."""
    match arguments.get("context"):
        case Mapping() as context:
            ids = {name: context.get(name) for name in ("agent_id", "request_id")}
            return {
                name: value
                for name, value in ids.items()
                if isinstance(value, str)
                and value.strip()
                and _size(value) <= CONTEXT_RULES[name]["maxBytes"]
            }
        case _:
            return {}


def _coded(error: MinutebookError, memory: str) -> tuple[str, str]:
    match error:
        case InvalidInput(argument=argument, remedy=remedy):
            is_context = argument.partition(".")[0] == "context"
            code = "INVALID_CONTEXT" if is_context else "INVALID_ARGUMENT"
            return code, f"Argument `{argument}` {remedy}."
        case Conflict(reason=reason):
            return "INVALID_ARGUMENT", f"Memory {memory} is not as the request supposes: {reason}."
        case ScopeViolation(act=act, reason=reason):
            return "SCOPE_VIOLATION", f"Not allowed to {act}: {reason}."
        case Locked(reason=reason):
            return (
                "MEMORY_LOCKED",
                f"Memory {memory} is {reason}; a manager or an architect can unlock it.",
            )
        case Forbidden(act=act, reason=reason):
            return "WRITE_NOT_ALLOWED", f"Not allowed to {act}: {reason}."
        case NotFound():
            return (
                "MEMORY_NOT_FOUND",
                f"There is no memory {memory} in this scope; memory-search tells which there are.",
            )
        case _:
            return "SERVER_ERROR", _trouble(error)


def _trouble(error: MinutebookError) -> str:
    """Return the message for an error of the server."""
    match error:
        case EmbeddingNotReady(state="error", reason=reason) | ModelUnavailable(reason=reason):
            return f"The embedding model cannot be used: {reason}. Tell whoever runs the server."
        case EmbeddingNotReady():
            return "The embedding model is still loading; try again in a few seconds."
        case StoreError(reason=reason):
            return f"The store could not do its work: {reason}."
        case _:
            return str(error)


def _memory_in(arguments: Mapping[str, Any]) -> str:
    """Return the memory's id as it was sent, shortened."""
    text = json.dumps(arguments.get("memory_id"), ensure_ascii=True, default=str).strip('"')
    return text if len(text) <= 60 else f"{text[:57]}…"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
