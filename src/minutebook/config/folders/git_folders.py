"""Find the Git repository around a folder by its files alone: worktrees, submodules, remotes."""

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minutebook.config.folders.git_config import values
from minutebook.config.folders.git_index import has_seen
from minutebook.config.folders.remotes import local_path, remote_name
from minutebook.config.folders.small_files import read_small

KEPT = "minutebook"
"""The file in Git's own directory that names a repository without a remote: worktrees share it, clones lack it."""

LOCAL = "local/"
"""How the name of a repository without a remote begins."""

_DEEPEST = 64
"""Folders between a folder and its repository that are looked at."""

_MOST_CLONES = 4
"""Clones of clones on this machine that are followed to where the first came from."""

_MOST_LOGGED = 1 << 16
"""Bytes of a log that are read."""

_KEPT_NAME = re.compile(r"[^\s/]{1,60}-[0-9a-f]{20}")
_ODD = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A work tree, and Git's directory, which all worktrees of a repository share; `index` is the tree's own.

    `doubt` says why the directory may be another's than it claims; None if it may not.
    """

    root: Path
    common: Path
    index: Path
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """The names of a repository, the one to use first; where a name is kept if it has none yet.

    `source` says where the first name is from.
    """

    names: tuple[str, ...]
    keep_in: Path
    source: str


def around(folder: Path, home: Path) -> Iterator[Path]:
    """Yield a folder and its parents, from inside out; the home folder and its parents belong to no project."""
    outside = {home, *home.parents}
    for each in (folder, *folder.parents)[:_DEEPEST]:
        if each in outside or each == each.parent:
            return
        yield each


def find_git(folder: Path, home: Path) -> GitFolder | None:
    """Return the Git repository around a folder; None if there is none.

    Raises OSError if a file of it cannot be read.
    """
    for root in around(folder, home):
        mark = root / ".git"
        if mark.is_dir():
            if (mark / "HEAD").exists():
                return GitFolder(root, mark, mark / "index", _doubt_of_owner(mark))
        elif mark.exists():
            return _linked(root, mark)
    return None


def identity_of(found: GitFolder) -> Identity:
    """Return the names of a repository. Raises OSError if a file of it cannot be read."""
    return _identity(found.common, found.root, _MOST_CLONES)


def doubt_of_writer(found: GitFolder, home: Path) -> str | None:
    """Say that neither a Git of this machine nor the person's own wrote in a repository, so that all of it may have been unpacked.

    None if one did: the index knows the files by their inodes, or, where a home was copied or restored, the log of HEAD has the
    address that the person's own configuration gives.
    """
    if not hasattr(os, "geteuid") or has_seen(found.index, found.root):
        return None
    if _is_logged(found.index.with_name("logs") / "HEAD", _addresses(home)):
        return None
    return (
        f"{found.common / 'config'} names a remote and may have come with the folder: Git knows none of its files here "
        "yet; `minutebook where --trust` there believes it"
    )


def _addresses(home: Path) -> set[str]:
    """Return the addresses under which the person commits, by the configuration in their home, not by a folder's own."""
    files = (home / ".gitconfig", home / ".config" / "git" / "config")
    found = (values(read_small(each) or "").get("user.email", "") for each in files)
    return {address for address in found if address}


def _is_logged(log: Path, addresses: set[str]) -> bool:
    """Tell whether a log of Git has a line by one of these addresses, among its first."""
    try:
        with log.open("rb") as file:
            lines = file.read(_MOST_LOGGED).decode(errors="replace").splitlines()
    except OSError:
        return False
    return any(f"<{each}> " in line.partition("\t")[0] for line in lines for each in addresses)


def keep_name(identity: Identity, root: Path) -> str:
    """Return the name of a repository without a remote, made and kept in Git's directory unless it has one.

    Raises OSError if the file cannot be written.
    """
    called = _ODD.sub("-", root.name).strip("-.")[:60] or "project"
    path = identity.keep_in / KEPT
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"{called}-{secrets.token_hex(10)}\n")
    except FileExistsError:
        pass
    (name,) = _kept(identity.keep_in)
    return name


def _identity(common: Path, root: Path, clones: int) -> Identity:
    path = common / "config"
    config = values(read_small(path) or "")
    kept = _kept(common)
    urls = {key: url for key, url in config.items() if re.fullmatch(r"remote\..+\.url", key)}
    key = "remote.origin.url" if "remote.origin.url" in urls else next(iter(urls), None)
    if key is not None:
        name = remote_name(urls[key])
        if name is not None:
            return Identity((name, *kept), common, f"the remote {key.split('.')[1]} in {path}")
        origin = _directory_at(local_path(urls[key]), root)
        if origin is not None and clones and _doubt_of_owner(origin) is None:
            first = _identity(origin, origin, clones - 1)
            names = dict.fromkeys((*first.names, *kept))
            is_kept = first.names or os.access(origin, os.W_OK)
            return Identity(tuple(names), first.keep_in if is_kept else common, first.source)
    return Identity(kept, common, str(common / KEPT))


def _kept(common: Path) -> tuple[str, ...]:
    """Return the name that is kept in Git's directory. Raises OSError if the file holds something else."""
    text = read_small(common / KEPT)
    if text is None:
        return ()
    if _KEPT_NAME.fullmatch(text.strip()) is None:
        raise OSError(None, f"holds no name of a repository; remove it: {common / KEPT}")
    return (LOCAL + text.strip(),)


def _directory_at(path: str | None, root: Path) -> Path | None:
    """Return Git's directory of the repository at a path of this machine; None if there is none."""
    if path is None:
        return None
    place = Path(os.path.realpath(root / path))
    return next((each for each in (place / ".git", place) if (each / "HEAD").is_file()), None)


def _linked(root: Path, mark: Path) -> GitFolder:
    """Return the target of a `.git` file: a worktree's repository, or a submodule's.

    Whoever made the folder wrote the file; it is believed if the other end leads back here.
    """
    text = read_small(mark) or ""
    if not text.startswith("gitdir:"):
        raise OSError(None, f"leads to no repository: {mark}")
    own = Path(os.path.realpath(root / text.removeprefix("gitdir:").strip()))
    shared = read_small(own / "commondir")
    common = own if shared is None else Path(os.path.realpath(own / shared.strip()))
    if not (common / "HEAD").exists():
        raise OSError(None, f"leads to no repository: {mark}")
    if shared is None:
        back = values(read_small(own / "config") or "").get("core.worktree")
        leads_back = back is not None and os.path.realpath(own / back) == str(root)
    else:
        back = (read_small(own / "gitdir") or "").strip()
        leads_back = back != "" and os.path.realpath(own / back) == str(mark)
    doubt = (
        f"{mark} leads to {own}, which does not lead back; `git worktree repair` mends a moved one"
    )
    known = _doubt_of_owner(common) if leads_back else doubt
    return GitFolder(root, common, own / "index", known)


def _doubt_of_owner(path: Path) -> str | None:
    """Say that a directory is another user's, as Git itself would; None if it is one's own or root's."""
    if not hasattr(os, "geteuid"):
        return None
    owner = path.stat().st_uid
    return None if owner in (os.geteuid(), 0) else f"{path} belongs to another user"
