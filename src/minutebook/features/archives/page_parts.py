"""The part of *Health* about backups, and the act of its button."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.errors import Forbidden
from minutebook.domain.policy import may_read_metrics
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.archives.copies.scheduled_backups import scheduled_backups


def backups(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return the known backups, to callers that answer for the whole store."""
    if not may_read_metrics(caller, admins_only=True):
        return None
    scheduled = app.get(scheduled_backups)
    return {
        "backups": app.get(store_backups).known(),
        "state": scheduled.state(),
        "may_back_up": scheduled.is_possible,
    }


def back_up(app: App, caller: Caller) -> str:
    """Make a backup and restore it for a test. Raises Forbidden to callers that do not answer for all."""
    if not may_read_metrics(caller, admins_only=True):
        reason = (
            "it holds all organizations; its owner may, and an admin's token that is held to none"
        )
        raise Forbidden("back up the store", reason)
    made = app.get(scheduled_backups).run(caller)
    return f"/health?done={'backup' if made else 'busy'}#backups"
