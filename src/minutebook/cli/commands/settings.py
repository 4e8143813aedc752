"""Show every setting and where it is set; set it in `config.toml`."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook.cli.printing import echo, say, style, warn
from minutebook.cli.terminal import Commands, as_json, home_option, identity
from minutebook.config import (
    Settings,
    all_settings,
    check_setting,
    environment,
    explicit,
    load,
    variable_of,
)
from minutebook.config.settings import hidden_settings
from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.reason import cause_of, os_error_reason
from minutebook.serve.invocation import FILE, PREFIX

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_HELP = {each.name: str(each.metadata["help"]) for each in fields(all_settings())}

_COMMON = {each.name for each in fields(all_settings()) if each.metadata["is_common"]}


@click.group(cls=Commands, invoke_without_command=True, short_help="Show and change settings.")
@identity
@click.option("--all", "shows_all", is_flag=True, help="Show every setting.")
@as_json
@click.pass_context
def settings(
    context: click.Context,
    options: dict[str, str],
    as_json: bool,  # noqa: FBT001
    shows_all: bool,  # noqa: FBT001
) -> None:
    """Show the settings that are set, with where each is set, then those that most people set; --all shows every one."""
    if context.invoked_subcommand is not None:
        return
    found = explicit(options)
    values = asdict(load(options))
    if as_json:
        shape = {
            name: _shown(value) for name, value in values.items() if name not in hidden_settings()
        }
        say({**shape, "sources": {name: each.origin for name, each in found.items()}}, "", as_json)
        return
    lines = {
        name: _lines(name, value, found[name].origin if name in found else "")
        for name, value in values.items()
    }
    echo(style("Set here", bold=True))
    echo(*(line for name in lines if name in found for line in lines[name]))
    echo("", style("As by default", bold=True))
    others = [name for name in lines if name not in found and (shows_all or name in _COMMON)]
    echo(*(line for name in others for line in lines[name]))
    more = len(lines.keys() - found) - len(others)
    echo(
        "",
        *([f"`minutebook settings --all` shows {more} more."] if more else []),
        "`minutebook settings set NAME VALUE` writes one into config.toml in the data directory;",
        f"the environment ({PREFIX}NAME) and options go before that file.",
    )


@settings.command(
    "set",
    short_help="Write a setting into config.toml.",
    # A negative number is a value.
    context_settings={"ignore_unknown_options": True},
)
@click.argument("name")
@click.argument("value")
@home_option
def set_(options: dict[str, str], name: str, value: str) -> dict[str, object]:
    """Write the setting NAME into config.toml, whose other lines and comments stay.

    VALUE is written as in the environment: folders with a colon between them (on Windows a
    semicolon), names with a comma.
    """
    path = write_setting(options, name, value)
    checked = check_setting(name, value, str(Path.cwd()))
    shown = "(hidden)" if name in hidden_settings() else _shown(checked)
    echo(f"Set {name} = {shown} in {path}.")
    return {"name": name, "value": shown, "path": path}


def write_setting(options: dict[str, str], name: str, value: str) -> Path:
    """Write a setting into config.toml, and return the file's path; warn if a variable overrides it.

    Raises InvalidInput if there is no such setting, or the value does not fit.
    """
    import tomlkit

    path = _file(options)
    checked = check_setting(name, value, str(Path.cwd()))
    document = _document(path)
    document[name] = _toml(checked)
    _write(path, tomlkit.dumps(document))
    _warn_of_variable(name)
    return path


@settings.command(short_help="Take a setting out of config.toml.")
@click.argument("name")
@home_option
def unset(options: dict[str, str], name: str) -> dict[str, object]:
    """Take the setting NAME out of config.toml: its default holds again."""
    import tomlkit

    path = _file(options)
    document = _document(path)
    if name not in document:
        raise InvalidInput(name, "is not set in {path}", path=path)
    del document[name]
    _write(path, tomlkit.dumps(document))
    echo(f"Took {name} out of {path}.")
    _warn_of_variable(name)
    return {"name": name, "value": None, "path": path}


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


def _lines(name: str, value: object, origin: str) -> tuple[str, str]:
    shown = "(hidden)" if name in hidden_settings() and value else _shown(value)
    source = style(f"  ({origin})", dim=True) if origin else ""
    return f"  {style(name, bold=True)} = {shown}{source}", style(f"      {_HELP[name]}", dim=True)


def _file(options: dict[str, str]) -> Path:
    # Not by `load`, which refuses a file with errors: the person may be about to mend it.
    home = options.get("home") or environment().get(variable_of("home")) or Settings().home
    return Path(home).expanduser().absolute() / FILE


def _document(path: Path) -> "TOMLDocument":
    """Return a TOML file with its layout and comments; an empty document if there is no file.

    Raises InvalidInput if the file cannot be read or is not TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), "must be valid TOML: {error}", error=error) from error
    except OSError as error:
        raise InvalidInput(str(path), "must be readable: {cause}", cause=cause_of(error)) from error


def _write(path: Path, text: str) -> None:
    """Replace a file atomically; only its owner can read it, since it may hold keys."""
    from minutebook.memory.maintenance.data_directory import make_home
    from minutebook.store.disk.atomic_file import replace_file

    make_home(path.parent)
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise StoreError(os_error_reason(path, error)) from error


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


def _warn_of_variable(name: str) -> None:
    if environment().get(variable_of(name)):
        warn(f"{variable_of(name)} in the environment goes before it here.", fg="yellow")


COMMANDS = (settings,)
"""The commands of this module."""
