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
    current = context.find_root()
    if command == ("all",):
        current.meta[EVERY_COMMAND] = True
        command = ()
    for name in command:
        group = current.command
        found = group.get_command(current, name) if isinstance(group, click.Group) else None
        if found is None:
            raise InvalidInput(
                "COMMAND",
                "must name a command (got {name!r}); `minutebook help all` lists them",
                name=name,
            )
        current = click.Context(found, current, name)
    echo(body(current.get_help()))


COMMANDS = (help_,)
