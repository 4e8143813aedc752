"""Imported records go again, and those that an import changed are as before; an archive stays."""

import re

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.acts import IMPORT_OWN
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.features.archives.archives import IMPORT

_DIGEST = re.compile(r"[0-9a-f]{64}")
"""The subject of an import of an archive, which that of another program has not."""


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Have the records of an import put back, but say of an archive that it stays."""
    if act.named.act not in (IMPORT, IMPORT_OWN, "replace"):
        return None
    if not _DIGEST.fullmatch(act.named.subject):
        return Undoing()
    return Undoing(Reason("an archive stays; `minutebook restore` brings a backup of before back"))
