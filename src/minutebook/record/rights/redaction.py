"""Redaction of errors: a caller with a token learns nothing about this machine."""

import re
from dataclasses import replace

from minutebook.record.caller import Caller
from minutebook.record.errors import (
    EmbeddingNotReady,
    InBatch,
    LedgerBroken,
    LedgerError,
    MinutebookError,
    ModelUnavailable,
    StoreClosed,
    StoreError,
)
from minutebook.record.reason import Reason

REASON = Reason("it cannot be used now; the log of the server tells why")
_PATH = re.compile(r"(?:^|[^\w.])(?:/|~/|[A-Za-z]:[\\/])\w", re.MULTILINE)
_REMEDY = Reason("ask whoever runs it")


def redacted_for(caller: Caller, error: MinutebookError) -> MinutebookError:
    """Return the error without this machine's paths if the caller came with a token, else unchanged.

    Facts about records stay. Returns the same object if nothing was left out.
    """
    return _without_paths(error) if caller.token else error


def _without_paths(error: MinutebookError) -> MinutebookError:
    match error:
        case InBatch(error=inner):
            shown = _without_paths(inner)
            return error if shown is inner else replace(error, error=shown)
        case StoreClosed() | EmbeddingNotReady(state="loading"):
            return error
        case LedgerBroken(reason=reason, remedy=remedy):
            # It names decisions, which the bearer may see, and sometimes the ledger's path.
            names_path = _PATH.search(f"{reason}\n{remedy}") is not None
            return replace(error, reason=REASON, remedy=_REMEDY) if names_path else error
        case LedgerError() | ModelUnavailable():
            return replace(error, reason=REASON, remedy=_REMEDY)
        case StoreError() | EmbeddingNotReady():
            return replace(error, reason=REASON)
        case _:
            return error
