"""Read `.minutebook.toml`, in which a folder names its project; it may have come with the folder, from anybody."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from minutebook.config.folders.remotes import is_name, remote_name
from minutebook.config.folders.small_files import read_small
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import cause_of

NAME = ".minutebook.toml"

_KEYS = ("repository", "hooks")


@dataclass(frozen=True, slots=True)
class FolderFile:
    """The content of the file: the name of the repository, and whether hooks are off."""

    path: Path
    repository: str | None = None
    hooks_off: bool = False


def read_folder_file(path: Path) -> FolderFile | None:
    """Return the content of a `.minutebook.toml`; None if there is none.

    Raises InvalidInput, which names file, line and key, if it is not valid TOML or has other keys or values.
    """
    try:
        text = read_small(path)
    except OSError as error:
        raise InvalidInput(
            str(path), "cannot be read: it {cause}", cause=cause_of(error)
        ) from error
    if text is None:
        return None
    try:
        settings = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(str(path), "must be valid TOML: {error}", error=error) from error
    for key in settings:
        if key not in _KEYS:
            remedy = "is nothing that a folder may set; {names} are"
            raise InvalidInput(_at(path, text, key), remedy, names=" and ".join(_KEYS))
    repository, hooks = settings.get("repository"), settings.get("hooks", "on")
    if hooks not in ("on", "off"):
        raise InvalidInput(_at(path, text, "hooks"), 'must be "on" or "off"')
    if repository is None:
        return FolderFile(path, None, hooks == "off")
    if not isinstance(repository, str) or not is_name(repository):
        raise InvalidInput(
            _at(path, text, "repository"), 'must be one short line, such as "github.com/acme/api"'
        )
    return FolderFile(path, normalized(repository), hooks == "off")


def normalized(repository: str) -> str:
    """Return the name of a repository, spelled as `remote_name` does if it is a URL or begins with a host."""
    host, _, _ = repository.partition("/")
    if remote_name(repository) is not None:
        return remote_name(repository) or repository
    return repository.lower() if "." in host else repository


def _at(path: Path, text: str, key: str) -> str:
    """Return file, line and key, for an error."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip(" \t[\"'").startswith(key):
            return f"{path}, line {number}: {key}"
    return f"{path}: {key}"
