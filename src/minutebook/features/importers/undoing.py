"""Imported records go again, and those that an import changed are as before."""

import re

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.trust.done_acts import DoneAct, Undoing

_DIGEST = re.compile(r"[0-9a-f]{64}")
"""The subject of an import of an archive, which is not ours."""


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Have the records of an import put back."""
    is_ours = act.named.act == "import" and not _DIGEST.fullmatch(act.named.subject)
    return Undoing() if is_ours else None
