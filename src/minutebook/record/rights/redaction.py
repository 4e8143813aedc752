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
    """Return an error as the caller may read it: without this machine's paths for token holders.

    What it says of records stays. Returns the same error if nothing was left out.
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
            # It tells of decisions, which the bearer may see; sometimes of where the ledger is.
            names_path = _PATH.search(f"{reason}\n{remedy}") is not None
            return replace(error, reason=REASON, remedy=_REMEDY) if names_path else error
        case LedgerError() | ModelUnavailable():
            return replace(error, reason=REASON, remedy=_REMEDY)
        case StoreError() | EmbeddingNotReady():
            return replace(error, reason=REASON)
        case _:
            return error
