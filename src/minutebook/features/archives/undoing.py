"""An archive that was brought in stays."""

import re

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.features.archives.archives import IMPORT

_DIGEST = re.compile(r"[0-9a-f]{64}")
"""The subject of an import of an archive, which that of another program has not."""

_ACTS = frozenset({IMPORT, "import_own", "replace"})


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of an archive that it stays."""
    if act.named.act not in _ACTS or not _DIGEST.fullmatch(act.named.subject):
        return None
    return Undoing(Reason("an archive stays; `minutebook restore` brings a backup of before back"))
