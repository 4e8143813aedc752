"""The lines of `minutebook status` about backups."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.features.archives.operations import backups

if TYPE_CHECKING:
    from minutebook.api.connection import Operating

_MINUTE = "%Y-%m-%dT%H:%MZ"


def status(api: "Operating", settings: Settings) -> Mapping[str, str | None]:
    """Return the times of the last backup and of the next, and the reason of one that failed."""
    made = api.run(backups)
    return {
        "last_backup": None if made.last is None else f"{made.last_at:{_MINUTE}} {made.last}",
        "next_backup": None if made.next_at is None else f"{made.next_at:{_MINUTE}}",
        "backup_failure": made.failure,
    }
