"""How the value of a setting is read: its kind stands with it."""

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
"""Reads a value as somebody wrote it; relative paths in it are from a folder, as `path_from` has it."""

SettingOwner = Literal["store", "organization", "client", "process"]
"""Whose value of a setting holds. A daemon and its clients have one value of those of the `store`; if one of an
`organization` is set, they have one organization, too. Those of a `client`, or of a server over HTTP, concern no daemon;
those of the `process` are the daemon's own."""


@dataclass(frozen=True, slots=True)
class SettingKind:
    """The reader of a setting's value, and a description of valid values for errors.

    `parse` raises TypeError or ValueError for any other value.
    """

    parse: Parse
    wanted: Reason


def one_of(names: Any) -> SettingKind:
    """Read one of the values of a Literal or an enum."""
    values = get_args(names) or tuple(names)

    def parse(value: Any, folder: str) -> Any:
        return values[values.index(value)]

    return SettingKind(parse, Reason("one of {names}", names=", ".join(values)))


def at_least(least: float) -> SettingKind:
    """Read a number as large as this one, or larger; a whole one if this is an int."""

    def parse(value: Any, folder: str) -> float:
        number = type(least)(value)
        if not number >= least or not isinstance(value, str | type(least) | int):
            raise ValueError(value)
        return number

    if isinstance(least, int):
        return SettingKind(parse, Reason("a whole number of at least {least:g}", least=least))
    return SettingKind(parse, Reason("a number of at least {least:g}", least=least))


def _roots(value: Any, folder: str) -> NamedRoots:
    """Read a list of folders, or a table of them by organization, or by that and repository."""
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
    """Read a list of folders, or one text in the form of the platform's PATH."""
    named = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(named, list):
        raise TypeError(value)
    return tuple(Path(path_from(folder, name)) for name in named if name)


def _url(value: Any, folder: str) -> str:
    """Read a URL that others are built on."""
    text = str(value)
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "?" in text or "#" in text:
        raise ValueError(value)
    return text


def separated(separator: str | None, wanted: Reason) -> SettingKind:
    """Read a list of names, or one text of names between separators (None: spaces)."""

    def parse(value: Any, folder: str) -> tuple[str, ...]:
        named = value.split(separator) if isinstance(value, str) else value
        return tuple(name.strip() for name in named if name.strip())

    return SettingKind(parse, wanted)


NAMES = separated(",", Reason("a list of names"))
"""Names between commas."""


def _truth(value: Any, folder: str) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise ValueError(value)


def _place_of_keys(value: Any, folder: str) -> str:
    """Read where keys are; of a key that was given in its place nothing is shown."""
    text = str(value)
    if text.startswith(KEY_FILE):
        path = text.removeprefix(KEY_FILE).strip()
        return KEY_FILE + path_from(folder, path) if path else KEY_FILE
    if text != KEYRING:
        remedy = "must be {name}, or {prefix}PATH; it is never a key itself"
        raise InvalidInput("key", remedy, name=KEYRING, prefix=KEY_FILE)
    return text


def path_unless(is_name: Callable[[str], bool], wanted: Reason) -> SettingKind:
    """Read a path, unless the value is empty or a name or URL, which `is_name` tells."""
    return SettingKind(
        lambda value, folder: value if not value or is_name(value) else path_from(folder, value),
        wanted,
    )


TEXT = SettingKind(lambda value, folder: str(value), Reason("text"))
FOLDER = SettingKind(lambda value, folder: Path(path_from(folder, value)), Reason("a folder"))
FILE = SettingKind(lambda value, folder: Path(path_from(folder, value)), Reason("a file"))
PLACE_OF_KEYS = SettingKind(
    _place_of_keys, Reason("{name}, or {prefix}PATH", name=KEYRING, prefix=KEY_FILE)
)
ROOTS = SettingKind(_roots, Reason("a list of folders, or a table of lists by organization"))
URL = SettingKind(_url, Reason("an http or https URL without a query"))
SWITCH = SettingKind(_truth, Reason("true or false"))
SECONDS = at_least(0.0)
COUNT = at_least(1)

OnOff = Literal["on", "off"]


def setting(
    default: Any,
    kind: SettingKind,
    help: str,
    *,
    of: SettingOwner = "store",
    variable: str = "",
    is_secret: bool = False,
    is_common: bool = False,
) -> Any:
    """Return the field of a setting; `default` is its value, or makes it; a secret is never shown.

    `variable` names one that states it beside its own. `is_common` lists it where only those are that most people set.
    """
    metadata = {
        "kind": kind,
        "help": help,
        "of": of,
        "variable": variable,
        "is_secret": is_secret,
        "is_common": is_common,
    }
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, repr=not is_secret, metadata=metadata)


client_setting = partial(setting, of="client")
"""A setting that each client of a daemon has for itself; as `setting`."""
