"""The command that takes acts back."""

import click

from minutebook.cli.keyboard import confirm
from minutebook.cli.opening import opened
from minutebook.cli.printing import echo, style
from minutebook.cli.terminal import identity
from minutebook.features.undo.operations import ListedAct, act_of, last_acts, take_back
from minutebook.record.errors import Conflict
from minutebook.record.origin import quoted_name

LISTED = 10


@click.command(short_help="Take back what was done last.")
@click.argument("number", metavar="[N]", required=False)
@click.option("--list", "lists", is_flag=True, help="List the last acts, with their numbers.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
def undo(
    options: dict[str, str],
    number: str | None,
    lists: bool,  # noqa: FBT001
    yes: bool,  # noqa: FBT001
) -> object:
    """Take your last act of the day back, or the act N of `--list`; all is as it was before.

    The owner of the store and administrators take back acts of others by their numbers. An act whose records were
    changed since stays, and is said to. Taking back is an act of its own, and has a number.
    """
    with opened(options) as api:
        if lists:
            found = api.run(last_acts, LISTED)
            echo(
                *[line for each in found for line in _lines(each)] or ["Nothing was done in a day."]
            )
            return found
        act = api.run(act_of, number)
        echo(*_lines(act))
        if act.obstacle:
            raise Conflict(act.number, act.obstacle)
        if not yes:
            confirm("Take this back?", abort=True)
        done = api.run(take_back, act.number)
        echo(f"Taken back; `minutebook undo {done.number}` does it again.")
    return done


def _lines(act: ListedAct) -> list[str]:
    through = f" through {act.client}" if act.client else ""
    who = style(
        f"{act.at.astimezone():%Y-%m-%d %H:%M}, {quoted_name(act.actor)}{through}", dim=True
    )
    lines = [f"{act.number:>6}  {act.text}  {who}"]
    if act.obstacle:
        lines.append(style(f"        cannot be taken back: {act.obstacle}", dim=True))
    return lines


COMMANDS = (undo,)
