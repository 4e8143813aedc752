"""Set Minutebook up on this machine: features offer steps, and a person says yes or no to each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import click

from minutebook.cli.keyboard import confirm
from minutebook.cli.printing import echo, style
from minutebook.cli.terminal import identity
from minutebook.feature import loaded


class Stage(IntEnum):
    """The order in which steps are offered."""

    CLIENTS = 1
    RECORDS = 2
    LATELY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A step that `setup` offers: its subject, lines about it, a question, and the work that a yes has done.

    Without `work` there is nothing to decide: the lines say how it is.
    """

    stage: Stage
    subject: str
    lines: Sequence[str]
    question: str = ""
    work: Callable[[], None] | None = None


@click.command(short_help="Connect this machine's clients; bring in their sessions.")
@click.option("--yes", is_flag=True, help="Take every step that is offered; ask nothing.")
@click.option("--dry-run", is_flag=True, help="Show the steps; take none.")
@identity
def setup(options: dict[str, str], yes: bool, dry_run: bool) -> None:  # noqa: FBT001
    """Enter Minutebook into the clients of this machine, and bring in the sessions that they kept.

    Each step is shown and asked for by itself. Run it again at any time: it says which clients have it.
    """
    steps = [offer for offers in loaded("setup") for offer in offers(options)]
    taken = 0
    for step in sorted(steps, key=lambda each: each.stage):
        echo(style(step.subject, bold=True), *(f"  {line}" for line in step.lines))
        if step.work is None or dry_run:
            continue
        if yes or confirm(f"  {step.question}"):
            step.work()
            taken += 1
    if dry_run:
        echo("Nothing was done.")
    elif not any(step.stage is Stage.CLIENTS for step in steps):
        echo("No client that we know is on this machine. `minutebook install --help` names them.")
    elif taken:
        echo("Now ask your agent to remember something. `minutebook ui` shows all that is kept.")


COMMANDS = (setup,)
