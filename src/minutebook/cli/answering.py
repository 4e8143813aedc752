"""`--json` of commands that act: the command's result, printed in the place of its lines."""

import click

from minutebook.cli.printing import JSON, say, wants_json

OWN_OUTPUT = frozenset({"serve", "setup", "help", "ui", "demo", "export-schema"})
"""Commands without `--json`: servers, conversations, and those with a format of their own."""


def let_answer_in_json(command: click.Command) -> None:
    """Add `--json` to a command and its subcommands, unless they have it; it prints the returned value in place of lines."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            let_answer_in_json(each)
    elif not any("--json" in each.opts for each in command.params):
        command.params.append(
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                callback=_note_json,
                help="Print what was done as JSON.",
            )
        )


def _note_json(context: click.Context, option: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        context.meta[JSON] = True


def show(answer: object) -> None:
    """Print the result of a command if `--json` was given."""
    if wants_json():
        say(answer, "", as_json=True)
