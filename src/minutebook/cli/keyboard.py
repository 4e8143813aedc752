"""The keyboard and the stdin of the person at the terminal; either may be closed."""

import sys
from pathlib import Path

import click

from minutebook.cli.printing import wants_json
from minutebook.domain.errors import InvalidInput

PATH = click.Path(path_type=Path)
"""The path of a file or folder of the person who typed it."""

TEXT_FILE = click.File(encoding="utf-8")
"""A text file that the person who typed it names, or stdin."""


def stdin_text(most: int = -1) -> str:
    """Return the text of stdin, so many characters at most, without the last line's end; "" if it is closed."""
    return "" if sys.stdin is None else sys.stdin.read(most).rstrip("\n")


def is_answered() -> bool:
    """Tell whether a person at a terminal can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, abort: bool = False) -> bool:
    """Ask a question; with `abort` a no raises click.Abort. Raises InvalidInput if stdin is closed."""
    _check_open(question)
    return click.confirm(question, abort=abort, err=wants_json())


def ask_secret(label: str, *, twice: bool = False) -> str:
    """Ask for a text that is not shown while it is typed. Raises InvalidInput if stdin is closed."""
    _check_open(label)
    text: str = click.prompt(label, hide_input=True, confirmation_prompt=twice, err=True)
    return text


def edited(text: str) -> str | None:
    """Let the person change a Markdown text in their editor; None if nothing was saved."""
    return click.edit(text, extension=".md")


def _check_open(question: str) -> None:
    if sys.stdin is None:
        raise InvalidInput(
            question, "has to be answered, and stdin is closed; --help names options"
        )
