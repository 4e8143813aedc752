"""Find the repository that a folder belongs to: by `.minutebook.toml`, a Git remote, or a kept name.

A repository's name is not a permission. It is believed if the person's own Git wrote it (in a `.git` whose
index knows the files here). What came with the folder (`.minutebook.toml`) is believed if it names a part
of the same repository, or if the person trusts it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from minutebook.config.folders.folder_file import NAME, FolderFile, read_folder_file
from minutebook.config.folders.git_folders import (
    LOCAL,
    GitFolder,
    Identity,
    around,
    doubt_of_writer,
    find_git,
    identity_of,
    keep_name,
)
from minutebook.record.errors import InvalidInput

Trusts = Callable[[str, str], bool]
"""Tells whether the person trusts a folder, by its key, to have the name of a repository."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a folder, by its key, to have the name of a repository."""

    place: str
    repository: str


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """The project that a folder belongs to.

    `root` is the project's folder, None outside of any project. `repository` is its name, None if it has
    none or the name is not believed; `also` are its other and former names, `source` is the origin of the name.
    `problem` says why the name is not believed, `claim` is the claim that a person may confirm, `confirmed` the one that
    a person has. `unnamed` is the identity of a repository without a name that can be given one.
    """

    folder: Path
    root: Path | None = None
    repository: str | None = None
    also: tuple[str, ...] = ()
    source: str = ""
    problem: str | None = None
    claim: Claim | None = None
    confirmed: Claim | None = None
    hooks_off: bool = False
    unnamed: Identity | None = None


@dataclass(frozen=True, slots=True)
class PlaceFact:
    """A feature's fact about a folder: name and value for programs, and a sentence for a person, or ""."""

    name: str
    value: str
    sentence: str = ""


def trusts_nothing(place: str, repository: str) -> bool:
    """Trust no folder: the default of `trusts`."""
    return False


def repository_of(folder: Path, trusts: Trusts = trusts_nothing) -> str | None:
    """Return the name of the repository that a folder belongs to; None if it belongs to none.

    A missing folder belongs to none. Reads a few small files, writes nothing.
    """
    return find_place(folder, trusts).repository


def find_place(
    folder: Path, trusts: Trusts = trusts_nothing, home: Path | None = None
) -> FolderPlace:
    """Return the place of a folder; its `problem` tells of unreadable files and untrusted claims.

    `home` is the person's home folder, which itself belongs to no project.
    """
    try:
        real = Path(os.path.realpath(folder))
    except (OSError, ValueError):
        # A text that cannot be a path: with a lone surrogate, or a NUL.
        return FolderPlace(folder)
    top = Path(os.path.realpath(home or Path.home()))
    found = FolderPlace(real)
    try:
        if not real.is_dir():
            return found
        git = find_git(real, top)
        file = _folder_file(real, top, git)
        if git is not None:
            found = _in_git(found, git, trusts, top)
        return found if file is None else _with_folder_file(found, file, git, trusts)
    except OSError as error:
        reason = f"{error.filename or real} {error.strerror}"
        return replace(found, problem=reason, repository=None, also=())
    except InvalidInput as error:
        return replace(found, problem=str(error), repository=None, also=(), unnamed=None)


def with_name(place: FolderPlace) -> FolderPlace:
    """Return a place with a name: a repository without one is given one, which is kept in `.git`.

    The place's `problem` says if it cannot be written there.
    """
    if place.unnamed is None or place.root is None:
        return place
    try:
        name = keep_name(place.unnamed, place.root)
    except OSError as error:
        reason = f"the repository has no remote, and no name can be kept: {error}"
        return replace(place, problem=reason)
    return replace(place, repository=name, source=place.unnamed.source, unnamed=None)


def _in_git(found: FolderPlace, git: GitFolder, trusts: Trusts, home: Path) -> FolderPlace:
    """Return the place with the name that Git has for it, if that is believed."""
    identity = identity_of(git)
    found = replace(found, root=git.root)
    if not identity.names:
        is_sure = git.doubt is None
        return replace(found, unnamed=identity if is_sure else None, problem=git.doubt)
    name, *others = identity.names
    # A local name has random letters, so that nobody else can claim it.
    doubt = git.doubt or (None if name.startswith(LOCAL) else doubt_of_writer(git, home))
    claim = None if doubt is None else Claim(str(git.root), name)
    if claim is not None and not trusts(claim.place, claim.repository):
        return replace(found, problem=doubt, claim=claim)
    return replace(
        found, repository=name, also=tuple(others), source=identity.source, confirmed=claim
    )


def _with_folder_file(
    found: FolderPlace, file: FolderFile, git: GitFolder | None, trusts: Trusts
) -> FolderPlace:
    """Return the place with the name in its `.minutebook.toml`, if that is believed."""
    found = replace(found, root=found.root or file.path.parent, hooks_off=file.hooks_off)
    name = file.repository
    if name is None or name == found.repository:
        return found
    own = [each for each in (found.repository, *found.also) if each is not None]
    is_part = any(name.startswith(f"{each}/") for each in own)
    claim = Claim(_key(file.path, git), name)
    if is_part or trusts(claim.place, name):
        return replace(
            found,
            repository=name,
            also=tuple(own),
            source=str(file.path),
            unnamed=None,
            problem=None,
            claim=None,
            confirmed=None if is_part else claim,
        )
    reason = (
        f"{file.path} calls this {name!r}, which is not believed: the file came with the folder; "
        "`minutebook where --trust` there believes it"
    )
    return replace(found, problem=reason, claim=claim)


def _folder_file(folder: Path, home: Path, git: GitFolder | None) -> FolderFile | None:
    """Return the nearest `.minutebook.toml` around a folder, not above its repository."""
    for each in around(folder, home):
        file = read_folder_file(each / NAME)
        if file is not None:
            return file
        if git is not None and each == git.root:
            return None
    return None


def _key(path: Path, git: GitFolder | None) -> str:
    """Return the key of a folder that may be trusted: it is the same in all worktrees of a repository."""
    if git is None or git.doubt is not None:
        return str(path.parent)
    below = path.parent.relative_to(git.root)
    return str(git.common) if str(below) == "." else f"{git.common}:{below.as_posix()}"
