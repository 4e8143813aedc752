"""The line of `setup` about hooks: their last calls, by client and event."""

from collections.abc import Iterator

from minutebook.cli.commands.setup import Offer, SetupRun, Stage
from minutebook.features.hooks import log
from minutebook.features.hooks.cli import event_line, lately


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield the last calls of hooks, if there were any."""
    if rows := lately(log.entries(str(run.settings.home))):
        lines = [event_line(row) for row in rows]
        yield Offer(stage=Stage.LATELY, subject="Hooks, lately", lines=lines)
