"""Set Minutebook up on this machine: features offer steps, and a person says yes or no to each."""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import click

from minutebook.cli.keyboard import confirm
from minutebook.cli.opening import is_begun, made_here, settings_of, start_daemon
from minutebook.cli.printing import echo, style, warn
from minutebook.cli.terminal import identity
from minutebook.feature import entries_of
from minutebook.serve.invocation import INTERRUPTED, Invocation, environment

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.config import Settings
    from minutebook.record.caller import Caller


class Stage(IntEnum):
    """The order in which features offer their steps."""

    CLIENTS = 1
    RECORDS = 2
    LATELY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A step that `setup` offers: a subject, lines about it, a question, and the work that is done after a yes.

    Without `work` there is nothing to decide: the lines only inform.
    """

    subject: str
    lines: Sequence[str]
    question: str = ""
    work: Callable[[], None] | None = None


class SetupRun:
    """One run of `setup`: its options, whether it `only_looks`, and the store, which is opened when a step first needs it."""

    def __init__(self, options: dict[str, str], *, only_looks: bool) -> None:
        self.options = options
        self.only_looks = only_looks

    @cached_property
    def settings(self) -> "Settings":
        """The settings."""
        return settings_of(self.options)

    def is_begun(self) -> bool:
        """Tell whether there is a store; `store` would make one."""
        return is_begun(self.settings)

    @cached_property
    def store(self) -> "tuple[App, Caller]":
        """The store, and the person at the terminal; it is closed when the command ends."""
        return click.get_current_context().with_resource(made_here(self.options))


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a feature at a stage: `offers` those of the setup, `removals` those that undo it.

    Both are iterated lazily: a step is made after the one before it was decided.
    """

    stage: Stage
    offers: Callable[[SetupRun], Iterable[Offer]]
    removals: Callable[[SetupRun], Iterable[Offer]] = lambda run: ()


@click.command(short_help="Connect this machine's clients; bring in their sessions.")
@click.option("--yes", is_flag=True, help="Take every step that is offered; ask nothing.")
@click.option("--dry-run", is_flag=True, help="Show the steps; take none.")
@click.option("--remove", is_flag=True, help="Take Minutebook out of every client again.")
@identity
def setup(options: dict[str, str], yes: bool, dry_run: bool, remove: bool) -> None:  # noqa: FBT001
    """Enter Minutebook into the clients of this machine, and bring in the sessions that they kept.

    Each step is shown and asked for by itself. Run it again at any time: it says which clients have it. With
    --remove each client's files are again as they were; what was remembered stays.
    """
    run = SetupRun(options, only_looks=dry_run)
    stages, taken = set[Stage](), 0
    for steps in sorted(entries_of("setup"), key=lambda steps: steps.stage):
        for step in (steps.removals if remove else steps.offers)(run):
            stages.add(steps.stage)
            echo(style(step.subject, bold=True), *(f"  {line}" for line in step.lines))
            if step.work is None or dry_run:
                continue
            if yes or _is_accepted(step):
                step.work()
                taken += 1
    if dry_run:
        echo("Nothing was done.")
    elif remove:
        echo(
            f"What was remembered stays in {run.settings.home}."
            if taken
            else "Nothing was taken out."
        )
    elif Stage.CLIENTS not in stages:
        echo(
            "No client that we know is on this machine. `minutebook install` lists them,",
            'or begin with `minutebook remember "…"`.',
        )
    elif taken:
        # If the first session had to start the daemon, its hooks and tools would be late.
        if Invocation(options, (), environment()).wants_daemon:
            start_daemon(options)
        echo(
            "Now ask your agent to remember something, or begin with `minutebook remember`.",
            "`minutebook ui` shows all that is kept.",
        )


def _is_accepted(step: Offer) -> bool:
    try:
        return confirm(f"  {step.question}")
    except click.Abort:
        warn("", "Stopped. The steps before this one are taken; run it again for the others.")
        sys.exit(INTERRUPTED)


COMMANDS = (setup,)
