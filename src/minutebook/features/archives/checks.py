"""The checks of `doctor` on backups."""

from collections.abc import Iterable

from minutebook.app import App
from minutebook.features.archives.copies.scheduled_backups import BackupState, scheduled_backups
from minutebook.services.maintenance.doctor import Check, Finding

BACK_UP = "`minutebook backup --rotate` makes one now"


def checks(app: App) -> Iterable[Check]:
    """Yield the check of the backups that are made by schedule."""
    yield Check("The backups", lambda: of_backups(app.get(scheduled_backups).state()))


def of_backups(state: BackupState) -> list[Finding]:
    """Return the faults of the backups of a schedule, as the last of them left it."""
    if state.failure is not None:
        finding = f"The backup of {state.failure.at:%Y-%m-%d %H:%M} failed: {state.failure.reason}."
        return [Finding(finding, BACK_UP)]
    if state.next_at is not None and state.gone is not None:
        finding = f"The last backup is gone, or is not whole: {state.gone}."
        return [Finding(finding, BACK_UP)]
    if state.next_at is not None and state.last is None:
        return [Finding("No backup was made by the schedule yet.", BACK_UP)]
    return []
