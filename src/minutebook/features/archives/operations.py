"""The operation on backups, and its lines of `minutebook status`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.operation import operation
from minutebook.config import Settings
from minutebook.record.caller import Caller

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.ask.connection import StoreConnection


_MINUTE = "%Y-%m-%dT%H:%MZ"


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The last backup and when it was made, when the next is due, and why one failed."""

    last: str | None
    last_at: datetime | None
    next_at: datetime | None
    failure: str | None


@operation()
def backups(app: "App", caller: Caller) -> BackupReport:
    """Tell which backup is the last, and when the next is due."""
    from minutebook.features.archives.copies.backups import store_backups
    from minutebook.features.archives.copies.scheduled_backups import scheduled_backups

    state, known = app.get(scheduled_backups).state(), app.get(store_backups).known()[:1]
    path, at = known[0] if known else (None, None)
    return BackupReport(
        None if path is None else str(path),
        at,
        state.next_at,
        None if state.failure is None else state.failure.reason,
    )


def status(api: "StoreConnection", settings: Settings) -> Mapping[str, str | None]:
    """Return the times of the last backup and of the next, and the reason of one that failed."""
    made = api.run(backups)
    return {
        "last_backup": None if made.last is None else f"{made.last_at:{_MINUTE}} {made.last}",
        "next_backup": None if made.next_at is None else f"{made.next_at:{_MINUTE}}",
        "backup_failure": made.failure,
    }


OPERATIONS = (backups,)
