"""Let a shell complete commands, options, ids and names."""

import click
from click.shell_completion import get_completion_class

from minutebook.cli.printing import say_exactly

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Have your shell complete commands, options and ids.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what has SHELL complete commands, options and ids.

    \b
    bash  echo 'eval "$(minutebook completion bash)"' >> ~/.bashrc
    zsh   echo 'eval "$(minutebook completion zsh)"' >> ~/.zshrc
    fish  minutebook completion fish > ~/.config/fish/completions/minutebook.fish
    """  # noqa: D301
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    command = context.find_root().command
    source = made(command, {}, "minutebook", "_MINUTEBOOK_COMPLETE").source()
    say_exactly(f"{source}\n".encode())


COMMANDS = (completion,)
"""The commands of this module."""
