"""The form that takes an act back, and the job that removes old images."""

from collections.abc import Iterable

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.services.jobs import Job


def take_back(app: App, caller: Caller, name: str) -> str:
    """Take an act back; lead to the page of the day."""
    from minutebook.features.undo.undo import Undo

    app.get(Undo).take_back(caller, name)
    return "/today"


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that removes the images that are older than a day."""
    from minutebook.features.undo.undo import Undo

    yield Job("undo", lambda _: app.get(Undo).prune(), "undo was not pruned")
