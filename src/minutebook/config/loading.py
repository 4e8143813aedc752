"""Where a setting is stated: on the command line, in the environment, in `config.toml`."""

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
class Stated:
    """The value of a setting that somebody stated, and where: an option, a variable, a file."""

    value: Any
    origin: str


def load(
    given: Mapping[str, Any], variables: Mapping[str, str] | None = None, folder: str = ""
) -> Settings:
    """Put the settings together; `given` comes from the command line and leaves out options not given.

    Relative paths of both are from `folder`, "" being the working directory of this process.
    A value that does not fit raises InvalidInput with the setting, where it was read and the remedy.
    """
    found = stated(given, variables, folder)
    return settings_with(**{name: each.value for name, each in found.items()})


def stated(
    given: Mapping[str, Any], variables: Mapping[str, str] | None = None, folder: str = ""
) -> dict[str, Stated]:
    """Return the settings that somebody stated; the others have their defaults.

    Arguments are those of `load`. A former setting is left out, which the log says once. Raises InvalidInput if a name is unknown or a value does not fit, as `load` does.
    """
    variables = environment() if variables is None else variables
    found: dict[str, Stated] = {}

    def add(name: str, value: Any, origin: str, folder: str = folder) -> None:
        # Also one that is not asked for is read: what does not fit is said at once.
        found.setdefault(name, Stated(_parsed(name, value, origin, folder), origin))

    for name, value in given.items():
        add(name, value, option_of(name))
    for name, declared in _declared().items():
        for variable in filter(None, (variable_of(name), declared["variable"])):
            if value := variables.get(variable):
                add(name, value, variable)
    for name in former_settings():
        if variables.get(variable_of(name)):
            _leave_out(name, variable_of(name))
    home = found["home"].value if "home" in found else Settings().home
    for name, value in _read_file(home / FILE).items():
        if name in former_settings():
            _leave_out(name, str(home / FILE))
            continue
        if name not in _declared() or name == "home":
            raise InvalidInput(
                name, "in {home} is no setting; see `minutebook settings`", home=home / FILE
            )
        add(name, value, str(home / FILE), str(home))
    return found


@cache
def _leave_out(name: str, origin: str) -> None:
    """Say that a former setting, which is stated there, has no effect."""
    log.warning("%s in %s is no setting any more and has no effect; take it out", name, origin)


def option_of(name: str) -> str:
    """Return the option that sets a setting."""
    return f"--{name.replace('_', '-')}"


def variable_of(name: str) -> str:
    """Return the variable that sets a setting."""
    return f"{PREFIX}{name.upper()}"


def check_setting(name: str, text: str, folder: str) -> Any:
    """Return the value of a setting's text as `config.toml` has it, paths relative to a folder.

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
