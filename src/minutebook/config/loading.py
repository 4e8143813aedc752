"""Read settings from the command line, the environment and `config.toml`."""

import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from minutebook.config.kinds import SettingKind
from minutebook.config.settings import Settings, all_settings, former_settings, settings_with
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import cause_of
from minutebook.serve.invocation import FILE, PREFIX, environment

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SetValue:
    """The value of a setting that is not its default, and its origin: an option, a variable or a file."""

    value: Any
    origin: str


def load(
    given: Mapping[str, Any], variables: Mapping[str, str] | None = None, folder: str = ""
) -> Settings:
    """Return the settings; `given` are the options of the command line that were typed.

    Relative paths in options and variables are relative to `folder`, "" for the working directory.
    Raises InvalidInput, with the setting, its origin and the remedy, if a value does not fit.
    """
    found = explicit(given, variables, folder)
    return settings_with(**{name: each.value for name, each in found.items()})


def explicit(
    given: Mapping[str, Any], variables: Mapping[str, str] | None = None, folder: str = ""
) -> dict[str, SetValue]:
    """Return the settings that are set somewhere, by name; the others have their defaults.

    Arguments are those of `load`. A former setting is ignored, with a warning in the log. Raises InvalidInput as `load` does.
    """
    variables = environment() if variables is None else variables
    found: dict[str, SetValue] = {}

    def add(name: str, value: Any, origin: str, folder: str = folder) -> None:
        # Parsed also if an earlier origin has set it: an invalid value is refused in any case.
        found.setdefault(name, SetValue(_parsed(name, value, origin, folder), origin))

    for name, value in given.items():
        add(name, value, option_of(name))
    for name, declared in _declared().items():
        for variable in filter(None, (variable_of(name), declared["variable"])):
            if value := variables.get(variable):
                add(name, value, variable)
    for name in former_settings():
        if variables.get(variable_of(name)):
            _warn_of_former(name, variable_of(name))
    home = found["home"].value if "home" in found else Settings().home
    for name, value in _read_file(home / FILE).items():
        if name in former_settings():
            _warn_of_former(name, str(home / FILE))
            continue
        if name not in _declared() or name == "home":
            raise InvalidInput(
                name, "in {home} is no setting; see `minutebook settings`", home=home / FILE
            )
        add(name, value, str(home / FILE), str(home))
    return found


@cache
def _warn_of_former(name: str, origin: str) -> None:
    """Log once that a former setting has no effect."""
    log.warning("%s in %s is no setting any more and has no effect; take it out", name, origin)


def option_of(name: str) -> str:
    """Return the option that sets a setting."""
    return f"--{name.replace('_', '-')}"


def variable_of(name: str) -> str:
    """Return the variable that sets a setting."""
    return f"{PREFIX}{name.upper()}"


def check_setting(name: str, text: str, folder: str) -> Any:
    """Return the value that a text sets a setting to in `config.toml`; relative paths are relative to `folder`.

    Raises InvalidInput if there is no such setting, or the value does not fit.
    """
    if name == "home" or name not in _declared():
        raise InvalidInput(
            name, "is no setting of {file}; `minutebook settings` names them", file=FILE
        )
    return _parsed(name, text, "VALUE", folder)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except RecursionError:
        raise InvalidInput(str(path), "must be valid TOML: it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(str(path), "must be valid TOML: {error}", error=error) from error
    except OSError as error:
        raise InvalidInput(str(path), "must be readable: {cause}", cause=cause_of(error)) from error


@cache
def _declared() -> Mapping[str, Mapping[str, Any]]:
    return {each.name: each.metadata for each in fields(all_settings())}


def _parsed(name: str, value: Any, origin: str, folder: str) -> Any:
    kind: SettingKind = _declared()[name]["kind"]
    try:
        return kind.parse(value, folder)
    except (TypeError, ValueError) as error:
        if _declared()[name]["is_secret"]:
            raise InvalidInput(
                name, "must be {wanted} ({origin} is another)", wanted=kind.wanted, origin=origin
            ) from None
        remedy = "must be {wanted} ({origin} is {given!r})"
        raise InvalidInput(name, remedy, wanted=kind.wanted, origin=origin, given=value) from error
