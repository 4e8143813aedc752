"""The domain's facts as JSON-RPC errors of the `ledger` contract."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from minutebook.record.errors import (
    Conflict,
    Decided,
    EmbeddingNotReady,
    GuessedTooOften,
    InvalidInput,
    LedgerBroken,
    MinutebookError,
    NotFound,
    Refused,
    StoreError,
    UnderReview,
)
from minutebook.record.ids import ledger_id_of
from minutebook.serve.contracts.answers import Failure

INVALID_PARAMS = -32602
EXECUTION_ERROR = -32000
PERMISSION_DENIED = 403


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    """Return the failure for an error: its cause and remedy; `data` has the reason and the ids."""
    match error:
        case InvalidInput(argument=argument, remedy=remedy):
            reason = f"`{argument}` {remedy}"
            data = {"reason": reason, "ids": [], "argument": argument}
            return Failure(f"Invalid params: {reason}.", INVALID_PARAMS, data)
        case UnderReview(reason=reason, id=id, opens=opens):
            return _failed(f"{id}: {reason}; accept it from {opens:%Y-%m-%dT%H:%M:%S.%fZ} on", [id])
        case GuessedTooOften(act=act, reason=sentence, opens=opens):
            reason = f"{sentence}; the next is looked at from {opens:%Y-%m-%dT%H:%M:%S.%fZ} on"
            return _forbidden(act, reason, _named_in(arguments))
        case Refused(act=act, reason=reason):
            return _forbidden(act, reason, _named_in(arguments))
        case Decided(id=id, reason=reason, target=target):
            return _failed(f"the target {target!r} has {id}: {reason}", [id])
        case Conflict(id=id, reason=reason):
            return _failed(f"{id}: {reason}", [id])
        case NotFound(kind=kind, id=id):
            return _failed(f"there is no {kind} {_shown(id)}", [_shown(id)])
        case LedgerBroken(ids=ids):
            return _failed(str(error), ids)
        case StoreError(reason=reason):
            return _failed(f"the store could not do its work: {reason}", [])
        case EmbeddingNotReady(reason=reason):
            return _failed(f"the embedding model is not ready: {reason or 'it is loading'}", [])
        case _:
            return _failed(str(error), [])


def _failed(reason: str, ids: Sequence[str]) -> Failure:
    data = {"reason": reason, "ids": list(ids)}
    return Failure(f"Execution error: {reason}.", EXECUTION_ERROR, data)


def _forbidden(act: str, reason: str, ids: Sequence[str]) -> Failure:
    data = {"reason": reason, "ids": list(ids), "act": act}
    return Failure(f"Permission denied: not allowed to {act}: {reason}.", PERMISSION_DENIED, data)


def _named_in(arguments: Mapping[str, Any]) -> list[str]:
    """Return the ids of the decisions and proposals that a call names."""
    ids = [arguments.get("proposal_id")]
    for name in ("old_decision_ids", "supersedes"):
        ids += arguments.get(name) or ()
    return [id for stated in ids if stated is not None and (id := ledger_id_of(stated)) is not None]


def _shown(id: str) -> str:
    """Return an id escaped and cut to 60 characters: an unknown id may be any text."""
    text = json.dumps(id, ensure_ascii=True)[1:-1]
    return text if len(text) <= 60 else f"{text[:59]}…"
