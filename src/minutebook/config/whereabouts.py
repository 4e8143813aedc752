"""Where a caller works, as the settings and a folder have it."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from minutebook.config import Settings
from minutebook.config.folders.finding import FolderPlace, begun, find_place
from minutebook.config.folders.trust import TrustedFolders
from minutebook.record.caller import Caller, FolderScope, WorkTree, with_call


def follows_folders(settings: Settings) -> bool:
    """Tell whether a folder has a say: the setting is on, and no other names the repository."""
    return settings.scope_from_folder == "on" and settings.repository is None


def place_in(settings: Settings, folder: Path) -> FolderPlace:
    """Return where a folder belongs; a repository that has no name yet is given one, kept in `.git`.

    Of a connection that only reads none is kept.
    """
    place = known_place(settings, folder)
    return place if settings.read_only else begun(place)


def known_place(settings: Settings, folder: Path) -> FolderPlace:
    """Return where a folder belongs, with nothing written."""
    return find_place(folder, TrustedFolders(settings.home).has)


def scope_of(place: FolderPlace) -> FolderScope:
    """Return the scope of whoever works in a place."""
    return FolderScope(place.repository, frozenset(place.also))


def work_tree_of(place: FolderPlace) -> WorkTree | None:
    """Return the work tree of whoever works in a place; None outside of any project."""
    return None if place.root is None else WorkTree(str(place.root), scope_of(place).shown)


def at_work(settings: Settings, caller: Caller, folder: str) -> Caller:
    """Return a caller with the work tree of a folder; none of an empty path."""
    if not folder:
        return caller
    return with_call(caller, work_tree=work_tree_of(known_place(settings, Path(folder))))


def repository_by_path(settings: Settings) -> Callable[[str], str | None]:
    """Return the function from the folder of what is captured to its repository; None where a setting names one.

    It is noted whether or not folders have a say for a connection: one for which they have none is shown all.
    """
    return repository_at(settings) if settings.repository is None else lambda folder: None


def repository_known(settings: Settings) -> Callable[[str], str | None]:
    """Return the same function with nothing written: a repository that has no name yet is none."""
    if not follows_folders(settings):
        return lambda folder: None
    return lru_cache(maxsize=4096)(lambda folder: known_place(settings, Path(folder)).repository)


def repository_at(settings: Settings) -> Callable[[str], str | None]:
    """Return the function from a folder's path to its repository, each folder read once."""

    @lru_cache(maxsize=4096)
    def found(folder: str) -> str | None:
        return place_in(settings, Path(folder)).repository if folder else None

    return found


def folder_scope(settings: Settings, folder: Path) -> FolderScope | None:
    """Return the scope of whoever works in a folder; None where folders have no say."""
    return scope_of(place_in(settings, folder)) if follows_folders(settings) else None
