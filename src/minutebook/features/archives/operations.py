"""How the backups are."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App


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


OPERATIONS = (backups,)
