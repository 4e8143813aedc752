"""The domain's facts as JSON-RPC errors of the `catalog` contract."""

import json
import re
from collections.abc import Mapping
from typing import Any

from minutebook.contracts.answers import Failure
from minutebook.contracts.resources import text_of
from minutebook.domain.errors import (
    Conflict,
    EmbeddingNotReady,
    InBatch,
    InvalidInput,
    Locked,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreError,
)
from minutebook.domain.ids import id_of, is_id, uuid_of

_ERRORS: Mapping[str, Any] = json.loads(text_of(__package__, "contract.json"))["errors"]
_ITEM = re.compile(r"items\[(\d+)\]")
_WIRE = {"content": "current_content", "type": "memory_type", "scope": "scope_type"}


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    """Return the failure for an error: its cause and remedy; `data` names the argument, id or item."""
    match error:
        case InBatch(index=index, error=inner):
            return _inside(index, word(inner, arguments["items"][index]))
        case NotFound(kind=kind, id=id):
            shown = _shown(id, arguments)
            return _failure("not_found", {"id": shown}, kind=kind.capitalize(), id=shown)
        case InvalidInput(argument=argument, remedy=remedy):
            if argument not in arguments:
                argument = _WIRE.get(argument, argument)
            item = _ITEM.match(argument)
            data = {"argument": argument} | ({"index": int(item[1])} if item else {})
            return _failure("invalid", data, argument=argument, remedy=remedy)
        case Locked(id=id, reason=reason):
            shown = _shown(id, arguments)
            return _failure("locked", {"id": shown}, id=shown, reason=reason)
        case Refused(act=act, reason=reason):
            return _failure("forbidden", {"act": act, "reason": reason}, act=act, reason=reason)
        case Conflict(id=id, reason=reason):
            shown = _shown(id, arguments)
            return _failure("conflict", {"id": shown}, id=shown, reason=reason)
        case EmbeddingNotReady(reason=reason):
            return _failure("not_ready", {"reason": reason}, reason=reason or "it is loading")
        case ModelUnavailable(reason=reason, remedy=remedy):
            return _failure("not_ready", {"reason": reason}, reason=f"{reason}; {remedy}")
        case StoreError(reason=reason):
            return _failure("failed", {"reason": reason}, reason=f"The store failed: {reason}")
        case _:
            return _failure("failed", {}, reason=str(error))


def _failure(name: str, data: Mapping[str, Any], **facts: Any) -> Failure:
    promise = _ERRORS[name]
    return Failure(promise["text"].format(**facts), promise["code"], data)


def _inside(index: int, failure: Failure) -> Failure:
    data = {"index": index, **(failure.structured or {})}
    if "argument" in data:
        data["argument"] = f"items[{index}].{data['argument']}"
    return Failure(f"items[{index}]: {failure.text}", failure.code, data)


def _shown(id: str, arguments: Mapping[str, Any]) -> str:
    """Show an id as the caller wrote it, else as a UUID."""
    for value in arguments.values():
        if isinstance(value, str) and id_of(value) == id:
            return value
    return str(uuid_of(id)) if is_id(id) else id
