"""Help: the first commands, all of them, or one."""

import click

from minutebook.cli.printing import body, echo
from minutebook.cli.terminal import EVERY_COMMAND
from minutebook.record.errors import InvalidInput


@click.command(
    "help", short_help="Show the help of a command, or list all commands with `help all`."
)
@click.argument("command", nargs=-1)
@click.pass_context
def help_(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of COMMAND, or list all commands with `all`."""
    at = context.find_root()
    if command == ("all",):
        at.meta[EVERY_COMMAND] = True
        command = ()
    for name in command:
        found = at.command.get_command(at, name) if isinstance(at.command, click.Group) else None
        if found is None:
            raise InvalidInput(
                "COMMAND",
                "must name a command (got {name!r}); `minutebook help all` lists them",
                name=name,
            )
        at = click.Context(found, at, name)
    echo(body(at.get_help()))


COMMANDS = (help_,)
