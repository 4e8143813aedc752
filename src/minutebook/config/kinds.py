"""The kinds of settings: how a value is parsed and checked."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from minutebook.record.errors import InvalidInput
from minutebook.record.reason import Reason
from minutebook.record.rights.roots import NamedRoots
from minutebook.serve.invocation import path_from
from minutebook.store.disk.encryption import KEY_FILE, KEYRING

Parse = Callable[[Any, str], Any]
"""Parses a value; relative paths in it are relative to the folder that is the second argument, as in `path_from`."""

SettingOwner = Literal["store", "organization", "client", "process"]
"""The owner of a setting's value. A daemon and its clients must have the same values of the `store`, and the same
organization if a setting of an `organization` is set; each `client` has its own values, the daemon those of the `process`."""


@dataclass(frozen=True, slots=True)
class SettingKind:
    """A parser of values, and a description of valid values for errors.

    `parse` raises TypeError or ValueError for an invalid value.
    """

    parse: Parse
    wanted: Reason


def one_of(names: Any) -> SettingKind:
    """Return the kind of settings with one of the values of a Literal or an enum."""
    values = get_args(names) or tuple(names)

    def parse(value: Any, folder: str) -> Any:
        return values[values.index(value)]

    return SettingKind(parse, Reason("one of {names}", names=", ".join(values)))


def at_least(least: float) -> SettingKind:
    """Return the kind of settings with a number of at least `least`, a whole one if `least` is an int."""

    def parse(value: Any, folder: str) -> float:
        number = type(least)(value)
        if not number >= least or not isinstance(value, str | type(least) | int):
            raise ValueError(value)
        return number

    if isinstance(least, int):
        return SettingKind(parse, Reason("a whole number of at least {least:g}", least=least))
    return SettingKind(parse, Reason("a number of at least {least:g}", least=least))


def _roots(value: Any, folder: str) -> NamedRoots:
    """Parse a list of folders, a table of lists by organization, or a table of such tables by repository."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if not isinstance(value, Mapping):
        return _folders(value, folder)
    return {
        organization: {name: _folders(each, folder) for name, each in folders.items()}
        if isinstance(folders, Mapping)
        else _folders(folders, folder)
        for organization, folders in value.items()
    }


def _folders(value: str | list[str], folder: str) -> tuple[Path, ...]:
    """Parse a list of folders, or a text of folders separated as in the variable PATH."""
    paths = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(paths, list):
        raise TypeError(value)
    return tuple(Path(path_from(folder, path)) for path in paths if path)


def _url(value: Any, folder: str) -> str:
    """Parse an http URL to which paths can be appended."""
    text = str(value)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "?" in text or "#" in text:
        raise ValueError(value)
    return text


def separated(separator: str | None, wanted: Reason) -> SettingKind:
    """Return the kind of settings with a list of names, or a text of names with separators (None: spaces)."""

    def parse(value: Any, folder: str) -> tuple[str, ...]:
        names = value.split(separator) if isinstance(value, str) else value
        return tuple(name.strip() for name in names if name.strip())

    return SettingKind(parse, wanted)


NAMES = separated(",", Reason("a list of names"))


def _bool(value: Any, folder: str) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise ValueError(value)


def _key_place(value: Any, folder: str) -> str:
    """Parse the place of keys; the error for another value does not quote it, since it may be a key."""
    text = str(value)
    if text.startswith(KEY_FILE):
        path = text.removeprefix(KEY_FILE).strip()
        return KEY_FILE + path_from(folder, path) if path else KEY_FILE
    if text != KEYRING:
        remedy = "must be {name}, or {prefix}PATH; it is never a key itself"
        raise InvalidInput("key", remedy, name=KEYRING, prefix=KEY_FILE)
    return text


def path_unless(is_name: Callable[[str], bool], wanted: Reason) -> SettingKind:
    """Return the kind of settings with a path, or with a value that is empty or for which `is_name` is True."""
    return SettingKind(
        lambda value, folder: value if not value or is_name(value) else path_from(folder, value),
        wanted,
    )


TEXT = SettingKind(lambda value, folder: str(value), Reason("text"))
FOLDER = SettingKind(lambda value, folder: Path(path_from(folder, value)), Reason("a folder"))
FILE = SettingKind(lambda value, folder: Path(path_from(folder, value)), Reason("a file"))
PLACE_OF_KEYS = SettingKind(
    _key_place, Reason("{name}, or {prefix}PATH", name=KEYRING, prefix=KEY_FILE)
)
ROOTS = SettingKind(_roots, Reason("a list of folders, or a table of lists by organization"))
URL = SettingKind(_url, Reason("an http or https URL without a query"))
SWITCH = SettingKind(_bool, Reason("true or false"))
SECONDS = at_least(0.0)
COUNT = at_least(1)

OnOff = Literal["on", "off"]


def setting(
    default: Any,
    kind: SettingKind,
    help: str,
    *,
    owner: SettingOwner = "store",
    variable: str = "",
    is_secret: bool = False,
    is_common: bool = False,
) -> Any:
    """Return the dataclass field of a setting; `default` is a value or a function that returns it; a secret is never shown.

    `variable` names a second environment variable that sets it. `is_common` if most people set it: `minutebook settings`
    then lists it without `--all`.
    """
    metadata = {
        "kind": kind,
        "help": help,
        "owner": owner,
        "variable": variable,
        "is_secret": is_secret,
        "is_common": is_common,
    }
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, repr=not is_secret, metadata=metadata)


client_setting = partial(setting, owner="client")
"""A setting that each client of a daemon has for itself; as `setting`."""
