"""The keyboard and the stdin of the person at the terminal; either may be closed."""

import codecs
import sys
from pathlib import Path
from typing import Any

import click

from minutebook.cli.printing import wants_json
from minutebook.record.control_characters import encodable
from minutebook.record.errors import InvalidInput
from minutebook.serve.invocation import environment

PATH = click.Path(path_type=Path)
"""The type of an argument that is a path of a file or folder."""

TEXT_FILE = click.File("rb")
"""The type of an argument that is a text file, or `-` for stdin: its bytes, which `text_in` decodes."""

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The marks with which a text in UTF-16 begins."""


def stdin_text(most: int = -1) -> str:
    """Return the text of stdin, at most `most` bytes, without the last line's end; "" if stdin is closed.

    Raises as `text_in` does.
    """
    return "" if sys.stdin is None else text_in(sys.stdin.buffer.read(most), "stdin").rstrip("\n")


def text_in(data: bytes, name: str) -> str:
    """Return the text of bytes in UTF-8, or in UTF-16 with a byte order mark, with line feeds as line ends.

    Raises InvalidInput, which names `name`, for other bytes.
    """
    encoding = "utf-16" if data.startswith(_MARKS) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        remedy = "must be text in UTF-8, or begin with the mark (BOM) of UTF-16; `iconv -t UTF-8` converts it"
        raise InvalidInput(name, remedy)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def has_terminal() -> bool:
    """Tell whether stdin is a terminal, where a person can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirm(question: str, *, abort: bool = False) -> bool:
    """Ask a question; return whether it was answered with yes. Raises click.Abort for a no if `abort`, InvalidInput if stdin is closed."""
    _check_open(question)
    return click.confirm(question, abort=abort, err=wants_json())


def ask_secret(label: str, *, twice: bool = False) -> str:
    """Ask for a text that is not shown while it is typed. Raises InvalidInput if stdin is closed."""
    _check_open(label)
    text: str = click.prompt(label, hide_input=True, confirmation_prompt=twice, err=True)
    return text


def edited(text: str, instead: str) -> str | None:
    """Return a Markdown text as the person changed it in their editor; None if they did not save.

    Raises InvalidInput, with the remedy `instead`, if there is no terminal for an editor.
    """
    if not has_terminal() and not environment().get("VISUAL"):
        remedy = "cannot be asked for in an editor without a terminal; {instead}"
        raise InvalidInput("the text", remedy, instead=instead)
    return click.edit(text, extension=".md")


def _check_open(question: str) -> None:
    if sys.stdin is None:
        raise InvalidInput(
            question, "has to be answered, and stdin is closed; --help names options"
        )


def refuse_invalid_text(command: click.Command) -> None:
    """Have the arguments of a command and its subcommands refuse bytes that are not UTF-8, which Python reads as surrogates."""
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        refuse_invalid_text(each)
    for parameter in command.params:
        # The common options, which may be paths, are not exposed.
        if parameter.expose_value and parameter.type is click.STRING:
            parameter.type = _ValidText()


class _ValidText(click.types.StringParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        if isinstance(text, str) and encodable(text) != text:
            self.fail("must be text in UTF-8", param, ctx)
        return text
