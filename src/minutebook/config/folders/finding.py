"""Find the repository that a folder belongs to: by `.minutebook.toml`, a Git remote, or a kept name.

Nothing here is a permission. What a person's own Git wrote (`.git`, whose index knows the files here) is believed; what came with the
folder (`.minutebook.toml`) is believed as far as it names a part of the same repository, or a person
trusts it.
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
"""Tells whether a person believes a folder that it is a repository."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A folder's unconfirmed claim: the key of the folder, and the name."""

    place: str
    repository: str


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """Where a folder belongs.

    `root` is the project's folder, None outside of any. `repository` is its name, None where it has
    none or the name is not believed. `also` are the names that it had before, or has besides. `source`
    says where the name is from. `problem` says what is wrong, `claim` what a person may confirm, `confirmed` what one has.
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
    """Where a repository that has no remote can be given a name; None if there is nothing to give."""


@dataclass(frozen=True, slots=True)
class PlaceFact:
    """A feature's fact about a folder: its name and value for programs, and a sentence for a person, "" for none."""

    name: str
    value: str
    sentence: str = ""


def trusts_nothing(place: str, repository: str) -> bool:
    """Believe no folder."""
    return False


def repository_of(folder: Path, trusts: Trusts = trusts_nothing) -> str | None:
    """Return the name of the repository that a folder belongs to; None if it belongs to none.

    A folder that is not there belongs to none. Reads a few small files and writes nothing.
    """
    return find_place(folder, trusts).repository


def find_place(
    folder: Path, trusts: Trusts = trusts_nothing, home: Path | None = None
) -> FolderPlace:
    """Return where a folder belongs; unreadable or untrusted claims are told as its problem.

    `home` is the person's home folder, which belongs to no project itself.
    """
    try:
        real = Path(os.path.realpath(folder))
    except (OSError, ValueError):
        # A text that can be no path, as programs note them: with half a character, or a zero.
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
        return found if file is None else _named(found, file, git, trusts)
    except OSError as error:
        reason = f"{error.filename or real} {error.strerror}"
        return replace(found, problem=reason, repository=None, also=())
    except InvalidInput as error:
        return replace(found, problem=str(error), repository=None, also=(), unnamed=None)


def begun(place: FolderPlace) -> FolderPlace:
    """Return a place with a name: a repository without a remote is given one, kept in `.git`.

    What cannot be kept there is told as the place's problem.
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
    identity = identity_of(git)
    found = replace(found, root=git.root)
    if not identity.names:
        is_sure = git.doubt is None
        return replace(found, unnamed=identity if is_sure else None, problem=git.doubt)
    name, *others = identity.names
    # A name that is kept here was made here, of random letters: nobody else can claim it.
    doubt = git.doubt or (None if name.startswith(LOCAL) else doubt_of_writer(git, home))
    claim = None if doubt is None else Claim(str(git.root), name)
    if claim is not None and not trusts(claim.place, claim.repository):
        return replace(found, problem=doubt, claim=claim)
    return replace(
        found, repository=name, also=tuple(others), source=identity.source, confirmed=claim
    )


def _named(
    found: FolderPlace, file: FolderFile, git: GitFolder | None, trusts: Trusts
) -> FolderPlace:
    """Return the place as its `.minutebook.toml` has it, as far as that is believed."""
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
    """Return the key of a trusted folder: for all worktrees of a repository the same."""
    if git is None or git.doubt is not None:
        return str(path.parent)
    below = path.parent.relative_to(git.root)
    return str(git.common) if str(below) == "." else f"{git.common}:{below.as_posix()}"
