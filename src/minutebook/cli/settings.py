"""Show what is set, what differs from the default first; set it in `config.toml`."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from minutebook.cli.printing import echo, say, style, warn
from minutebook.cli.terminal import as_json, identity, place
from minutebook.config import Settings, check_setting, environment, load
from minutebook.domain.errors import InvalidInput, StoreError
from minutebook.invocation import FILE, PREFIX, SECRETS

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def _completing(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of a setting that `config.toml` may hold."""
    return [
        CompletionItem(each.name, help=str(each.metadata["help"]))
        for each in fields(Settings)
        if each.name != "home" and each.name.startswith(incomplete)
    ]


@click.group(invoke_without_command=True, short_help="Show and change settings.")
@identity
@as_json
@click.pass_context
def settings(context: click.Context, as_json: bool) -> None:  # noqa: FBT001
    """Show every setting and its value here, those that differ from the default first."""
    if context.invoked_subcommand is not None:
        return
    current, standard = load(context.obj), Settings()
    shape = {
        each.name: _shown(getattr(current, each.name))
        for each in fields(Settings)
        if each.name not in SECRETS
    }
    if as_json:
        say(shape, "", as_json)
        return
    told = [(each, getattr(current, each.name)) for each in fields(Settings)]
    chosen = [(each, value) for each, value in told if value != getattr(standard, each.name)]
    echo(style("Set here", bold=True), *(_lines(chosen) if chosen else ("  nothing",)))
    echo("", style("As by default", bold=True))
    echo(*_lines([each for each in told if each not in chosen]))
    echo(
        "",
        "`minutebook settings set NAME VALUE` writes one into config.toml in the data directory;",
        f"the environment ({PREFIX}NAME) and options go before that file.",
    )


@settings.command("set", short_help="Write a setting into config.toml.")
@click.argument("name", shell_complete=_completing)
@click.argument("value")
@place
@click.pass_obj
def set_(given: dict[str, str], name: str, value: str) -> None:
    """Write the setting NAME into config.toml, whose other lines and comments stay.

    VALUE is written as in the environment: folders with a colon between them (on Windows a
    semicolon), names with a comma.
    """
    import tomlkit

    path = _file(given)
    checked = check_setting(name, value, str(Path.cwd()))
    document = _document(path)
    document[name] = _toml(checked)
    _write(path, tomlkit.dumps(document))
    shown = "(hidden)" if name in SECRETS else _shown(checked)
    echo(f"Set {name} = {shown} in {path}.")
    _warn_of_environment(name)


@settings.command(short_help="Take a setting out of config.toml.")
@click.argument("name", shell_complete=_completing)
@place
@click.pass_obj
def unset(given: dict[str, str], name: str) -> None:
    """Take the setting NAME out of config.toml: its default holds again."""
    import tomlkit

    path = _file(given)
    document = _document(path)
    if name not in document:
        raise InvalidInput(name, f"is not set in {path}")
    del document[name]
    _write(path, tomlkit.dumps(document))
    echo(f"Took {name} out of {path}.")
    _warn_of_environment(name)


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(map(str, value))
        case Mapping():
            return json.dumps(_toml(value), ensure_ascii=False)
        case _:
            return str(value)


def _lines(told: list[tuple[Field[Any], object]]) -> Iterator[str]:
    for each, value in told:
        shown = "(hidden)" if each.name in SECRETS and value else _shown(value)
        yield f"  {style(each.name, bold=True)} = {shown}"
        yield style(f"      {each.metadata['help']}", dim=True)


def _file(given: dict[str, str]) -> Path:
    # Not by `load`: a file that does not fit is what a person may be about to mend.
    home = given.get("home") or environment().get(f"{PREFIX}HOME") or Settings().home
    return Path(home).expanduser().absolute() / FILE


def _document(path: Path) -> "TOMLDocument":
    """Read a TOML file with its layout and comments, an empty one where there is none; InvalidInput."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), f"must be valid TOML: {error}") from error
    except OSError as error:
        raise InvalidInput(str(path), f"must be readable: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    """Put a file in the place of what was there, whole; for its owner's eyes, as it may hold keys."""
    from minutebook.services.maintenance.data_directory import make_home

    make_home(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"{path}: {error.strerror}") from error


def _toml(value: object) -> object:
    match value:
        case StrEnum() | Path():
            return str(value)
        case tuple():
            return [str(each) for each in value]
        case Mapping():
            return {name: _toml(each) for name, each in value.items()}
        case _:
            return value


def _warn_of_environment(name: str) -> None:
    variable = f"{PREFIX}{name.upper()}"
    if environment().get(variable):
        warn(f"{variable} in the environment goes before it here.", fg="yellow")


COMMANDS = (settings,)
"""The commands of this module."""
