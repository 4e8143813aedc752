"""The project in which a caller works, by the settings and a folder."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from minutebook.config import Settings
from minutebook.config.folders.finding import FolderPlace, find_place, with_name
from minutebook.config.folders.trust import TrustedFolders
from minutebook.record.caller import Caller, FolderScope, WorkTree, with_call


def follows_folders(settings: Settings) -> bool:
    """Tell whether folders determine the repository: `scope_from_folder` is on, and no setting names a repository."""
    return settings.scope_from_folder == "on" and settings.repository is None


def place_in(settings: Settings, folder: Path) -> FolderPlace:
    """Return the place of a folder; a repository without a name is given one in `.git`, unless the settings are read-only."""
    place = known_place(settings, folder)
    return place if settings.read_only else with_name(place)


def known_place(settings: Settings, folder: Path) -> FolderPlace:
    """Return the place of a folder; nothing is written."""
    return find_place(folder, TrustedFolders(settings.home).has)


def scope_of(place: FolderPlace) -> FolderScope:
    """Return the scope of a caller that works in a place."""
    return FolderScope(place.repository, frozenset(place.also))


def work_tree_of(place: FolderPlace) -> WorkTree | None:
    """Return the work tree of a place; None outside of any project."""
    return None if place.root is None else WorkTree(str(place.root), scope_of(place).shown)


def at_work(settings: Settings, caller: Caller, folder: str) -> Caller:
    """Return a caller with the work tree of a folder, unchanged for the path ""."""
    if not folder:
        return caller
    return with_call(caller, work_tree=work_tree_of(known_place(settings, Path(folder))))


def repository_by_path(settings: Settings) -> Callable[[str], str | None]:
    """Return the function from the folder of a captured session to its repository, or None if a setting names one.

    It does not depend on `scope_from_folder`: the repository of a session is kept in any case.
    """
    return repository_at(settings) if settings.repository is None else lambda folder: None


def repository_known(settings: Settings) -> Callable[[str], str | None]:
    """Return the function from a folder to its repository, None for one without a name; nothing is written.

    It returns None for every folder if folders do not determine the repository.
    """
    if not follows_folders(settings):
        return lambda folder: None
    return lru_cache(maxsize=4096)(lambda folder: known_place(settings, Path(folder)).repository)


def repository_at(settings: Settings) -> Callable[[str], str | None]:
    """Return the function from a folder to its repository, as `place_in` names it; each folder is read once."""

    @lru_cache(maxsize=4096)
    def found(folder: str) -> str | None:
        return place_in(settings, Path(folder)).repository if folder else None

    return found


def folder_scope(settings: Settings, folder: Path) -> FolderScope | None:
    """Return the scope of a caller that works in a folder; None if folders do not determine it."""
    return scope_of(place_in(settings, folder)) if follows_folders(settings) else None
