"""The functions of this feature that the core calls: for checks, the page *Health*, `minutebook status` and undo."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.archives.copies.scheduled_backups import BackupState, scheduled_backups
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.record.caller import Caller
from minutebook.record.errors import Forbidden
from minutebook.record.policy import may_read_metrics
from minutebook.record.reason import Reason
from minutebook.record.trust.acts import IMPORT_OWN
from minutebook.record.trust.done_acts import DoneAct, Undoing

_MINUTE = "%Y-%m-%dT%H:%MZ"

BACK_UP = "`minutebook backup --rotate` makes one now"


def checks(app: App) -> Iterable[Check]:
    """Yield the check of the scheduled backups."""
    yield Check("The backups", lambda: of_backups(app.get(scheduled_backups).state()))


def of_backups(state: BackupState) -> list[Finding]:
    """Return the faults of scheduled backups."""
    if state.failure is not None:
        finding = f"The backup of {state.failure.at:%Y-%m-%d %H:%M} failed: {state.failure.reason}."
        return [Finding(finding, BACK_UP)]
    if state.next_at is not None and state.gone is not None:
        finding = f"The last backup is gone, or is not whole: {state.gone}."
        return [Finding(finding, BACK_UP)]
    if state.next_at is not None and state.last is None:
        return [Finding("No backup was made by the schedule yet.", BACK_UP)]
    return []


def backups(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return the known backups for *Health*; None for callers that may not see the whole store."""
    from minutebook.features.archives.copies.backups import store_backups

    if not may_read_metrics(caller):
        return None
    scheduled = app.get(scheduled_backups)
    return {
        "backups": app.get(store_backups).known(),
        "state": scheduled.state(),
        "may_back_up": scheduled.is_possible,
    }


def status(app: App, caller: Caller) -> Mapping[str, str | None]:
    """Return the times of the last and the next backup, and the reason if the last one failed."""
    from minutebook.features.archives.copies.backups import store_backups

    state, known = app.get(scheduled_backups).state(), app.get(store_backups).known()[:1]
    return {
        "last_backup": " ".join(f"{at:{_MINUTE}} {path}" for path, at in known) or None,
        "next_backup": None if state.next_at is None else f"{state.next_at:{_MINUTE}}",
        "backup_failure": None if state.failure is None else state.failure.reason,
    }


def back_up(app: App, caller: Caller) -> str:
    """Make a backup and verify it; return the address to go to. Raises Forbidden to callers that may not see the whole store."""
    if not may_read_metrics(caller):
        reason = (
            "it holds all organizations; its owner may, and an admin's token that is held to none"
        )
        raise Forbidden("back up the store", reason)
    made = app.get(scheduled_backups).run(caller)
    return f"/health?done={'backup' if made else 'busy'}#backups"


_DIGEST = re.compile(r"[0-9a-f]{64}")
"""The subject of an archive's import; imports from other programs have other subjects."""


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return how an import is taken back: by putting records back, except that of an archive; None for other acts."""
    from minutebook.features.archives.archives import IMPORT

    if act.naming_entry.act not in (IMPORT, IMPORT_OWN, "replace"):
        return None
    if not _DIGEST.fullmatch(act.naming_entry.subject):
        return Undoing()
    return Undoing(Reason("an archive stays; `minutebook restore` brings a backup of before back"))
