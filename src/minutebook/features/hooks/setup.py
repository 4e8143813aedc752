"""The lines of `setup` about hooks: when each client's were last called, and the outcomes."""

from collections.abc import Iterator
from datetime import UTC, datetime

from minutebook.cli.commands.setup import Offer, SetupRun, Stage, Steps
from minutebook.features.hooks import log
from minutebook.features.hooks.cli import client_lines


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield the last calls of hooks, if there were any."""
    if lines := client_lines(log.entries(str(run.settings.home)), datetime.now(UTC)):
        yield Offer(subject="Hooks, lately", lines=lines)


STEPS = Steps(Stage.LATELY, offers)
