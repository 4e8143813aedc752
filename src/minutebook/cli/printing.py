"""Printing on the terminal, so that stored text cannot control it, forge a line or hide.

`echo` and `warn` escape every control and bidirectional character of their lines, except those that
`style` (colours) and `body` (line ends of a long text) have marked; a mark holds a random number of
this process, so that stored text cannot have one.
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
    """Return an error as a sentence for a person, with the command that helps."""
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
"""The key in click's `meta` of whether `--json` was given."""

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
    """Return a text with its line ends and tabs marked to stay; each line but the first is indented by `indent`."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _marked(f"\n{indent}").join(line.replace("\t", _marked("\t")) for line in lines)


def shown(line: str) -> str:
    """Return a line as it is printed: control characters are escaped, except marked ones."""
    parts = _MARK.split(line)
    # Split by its one group, every second part is a mark's own.
    return "".join(part if i % 2 else escaped(part) for i, part in enumerate(parts))


def wants_json() -> bool:
    """Tell whether the command's result is printed as JSON, by `answering.show`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(JSON))


def echo(*lines: str) -> None:
    """Print lines on stdout, or on stderr if the result is printed as JSON; a line end within a line is escaped."""
    _print(lines, err=wants_json())


def warn(*lines: str, fg: str | None = None) -> None:
    """Print lines on stderr, in the colour `fg`."""
    _print([style(line, fg=fg) for line in lines], err=True)


def say(answer: object, lines: str | Iterable[str], as_json: bool) -> None:  # noqa: FBT001
    """Print a line or lines, or with `as_json` the answer as JSON: a record as an object of its fields."""
    if as_json:
        document = json.dumps(answer, indent=2, ensure_ascii=False, default=_plain)
        click.echo(escaped_in_json(document))
    else:
        echo(*([lines] if isinstance(lines, str) else lines))


def say_exactly(document: bytes) -> None:
    """Print bytes unchanged: for documents that hold nothing stored."""
    click.echo(document, nl=False)


def short(text: str, room: int) -> str:
    """Return a text, cut to `room` characters."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _print(lines: Iterable[str], *, err: bool) -> None:
    for line in lines:
        click.echo(shown(line), err=err)


def _plain(value: object) -> object:
    """Return a value that JSON does not have as one that it has. Raises TypeError for an unknown type."""
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
