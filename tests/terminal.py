"""Commands, run as a person types them."""

from collections.abc import Callable, Iterator
from typing import Any

import click
from click.testing import CliRunner, Result

from minutebook.cli import main

Run = Callable[..., Result]


def typed(*arguments: str, **options: Any) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, arguments, **options)


def remembered(run: Run, text: str, *options: str) -> str:
    """Keep a memory; its id."""
    result = run("remember", text, *options)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def leaf_commands(group: click.Group = main, *above: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, with its words; a group's own act too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield (*above, name), command
        if isinstance(command, click.Group):
            yield from leaf_commands(command, *above, name)
