"""Composes undo."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.features.undo.undo import Undo


class UndoServices(FeatureServices):
    """Acts, and the way back."""

    @service
    def undo(self) -> "Undo":
        """List the acts of the last day, and take one back."""
        from minutebook.features.undo.undo import Undo

        return Undo(self.app)


def take_back(app: App, caller: Caller, name: str) -> str:
    """Take an act back; lead to the page of the day."""
    app.get(UndoServices).undo.take_back(caller, name)
    return "/today"


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that removes the images that are older than a day."""
    yield Job("undo", lambda _: app.get(UndoServices).undo.prune(), "undo was not pruned")
