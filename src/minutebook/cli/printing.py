"""The one way from a command to the terminal: stored text cannot steer it, forge a line or hide.

`echo` and `warn` escape every control and bidirectional character of the lines they are given. What
may stay is marked by `style` (colours) and `body` (line ends of a long text); a mark holds a number
that only this process knows, so no stored text can bear one.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path

import click

from minutebook.record.control_characters import escaped, escaped_in_json
from minutebook.record.errors import (
    Decided,
    EmbeddingNotReady,
    Locked,
    MinutebookError,
    NotFound,
    Refused,
)
from minutebook.record.origin import Origin
from minutebook.record.records import Memory, Record

_LISTS = {
    "memory": "list",
    "token": "token list",
    "project": "projects",
    "session": "sessions",
    "decision": "decisions",
    "proposal": "decisions --proposed",
    "suggestion": "tidy",
}
"""The command that lists the records of a kind."""


def sentence(error: MinutebookError) -> str:
    """Word an error for a person."""
    match error:
        case NotFound(kind=kind) if kind in _LISTS:
            return f"{error}; `minutebook {_LISTS[kind]}` shows those there are"
        case Locked(id=id, needs=str(needs)):
            return f"{error}; first `minutebook mark {id} unlock --role {needs}`"
        case Refused(needs=str(needs)):
            return f"{error}; if you are one, add `--role {needs}`"
        case Decided(id=id):
            return f"{error} with `--supersedes {id}`"
        case EmbeddingNotReady(state="loading"):
            return f"{error}; try again soon"
        case EmbeddingNotReady(reason=reason):
            return f"the embedding model cannot be used: {reason}"
        case _:
            return str(error)


JSON = "minutebook.json"
"""The key in click's `meta` under which the frame notes that a command's answer is to be JSON."""

_NUMBER = os.urandom(16).hex()
_MARK = re.compile(rf"\x1b<{_NUMBER}:([^>]*)>")


def _marked(raw: str) -> str:
    return f"\x1b<{_NUMBER}:{raw}>"


def style(
    text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None
) -> str:
    """Return the text with a colour or weight that `click.style` knows, for `echo`."""
    begin = click.style("", reset=False, fg=fg, bold=bold, dim=dim)
    return f"{_marked(begin)}{text}{_marked(click.style(''))}" if begin else text


def body(text: str, indent: str = "") -> str:
    """Let a text keep its line ends and tabs, each further line after the indent."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _marked(f"\n{indent}").join(line.replace("\t", _marked("\t")) for line in lines)


def shown(line: str) -> str:
    """Return a line as a terminal gets it: control characters escaped, except those of `style`."""
    parts = _MARK.split(line)
    # Split by its one group, every second part is a mark's own.
    return "".join(part if at % 2 else escaped(part) for at, part in enumerate(parts))


def wants_json() -> bool:
    """Tell whether the frame prints the command's result, as JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(JSON))


def echo(*lines: str) -> None:
    """Print lines on stdout; a line end within one is escaped, unless `body` let it be.

    Where the frame prints JSON there, they go to stderr.
    """
    _print(lines, err=wants_json())


def warn(*lines: str, fg: str | None = None) -> None:
    """Print lines on stderr, in this colour."""
    _print([style(line, fg=fg) for line in lines], err=True)


def say(answer: object, lines: str | Iterable[str], as_json: bool) -> None:  # noqa: FBT001
    """Print the line or lines, or the answer as JSON: of a record its fields, with values that read back exactly."""
    if as_json:
        document = json.dumps(answer, indent=2, ensure_ascii=False, default=_plain)
        click.echo(escaped_in_json(document))
    else:
        echo(*([lines] if isinstance(lines, str) else lines))


def say_exactly(document: bytes) -> None:
    """Print bytes as they are; for documents of ours that hold nothing stored."""
    click.echo(document, nl=False)


def short(text: str, room: int) -> str:
    """Return a text, cut to the room there is."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _print(lines: Iterable[str], *, err: bool) -> None:
    for line in lines:
        click.echo(shown(line), err=err)


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case Path():
            return str(value)
        case Origin():
            return value.parts
        case MinutebookError():
            return str(value)
        case Record():
            return {"kind": value.kind, **fields_of(value)}
        case Mapping():
            return dict(value)
        case Collection():
            return list(value)
    if not is_dataclass(value):
        raise TypeError(f"{value!r} has no form in JSON")
    return fields_of(value)


def fields_of(value: object) -> dict[str, object]:
    """Return the fields of a dataclass by name, without secrets; for a memory also its UUID."""
    values: dict[str, object] = {}
    for each in fields(value):  # type: ignore[arg-type]
        if each.repr:
            values[each.name] = getattr(value, each.name)
        if each.name == "id" and isinstance(value, Memory):
            values["uuid"] = value.uuid
    return values
