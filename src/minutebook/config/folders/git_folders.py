"""Find the Git repository around a folder, without starting Git: worktrees, submodules, remotes."""

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
"""The file in Git's directory with the name of a repository without a remote: worktrees share it, clones do not have it."""

LOCAL = "local/"
"""The prefix of the name of a repository without a remote."""

_DEEPEST = 64
"""Folders, from a folder upwards, in which its repository is searched."""

_MOST_CLONES = 4
"""Clones of clones on this machine that are followed to the remote of the first."""

_MOST_LOGGED = 1 << 16
"""Bytes of a log of Git that are read."""

_KEPT_NAME = re.compile(r"[^\s/]{1,60}-[0-9a-f]{20}")
_ODD = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class GitFolder:
    """A work tree; `common` is Git's directory, which all worktrees of a repository share, `index` the tree's own index.

    `doubt` says why the directory may not be the person's own; None if it is.
    """

    root: Path
    common: Path
    index: Path
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """The names of a repository, the current one first; `source` is the origin of that name.

    `keep_in` is the directory in which a name is kept if it has none yet.
    """

    names: tuple[str, ...]
    keep_in: Path
    source: str


def around(folder: Path, home: Path) -> Iterator[Path]:
    """Yield a folder and its parents, the innermost first, up to the home folder, which belongs to no project."""
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
    """Return why a repository may have come with the folder, such as from an archive; None if the person's Git wrote in it.

    It did if the index knows a file by its inode, or, in a home that was copied or restored, if the log of HEAD has
    the address in the person's own configuration.
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
    """Return the addresses with which the person commits, by the configuration in their home."""
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
    """Return the name of a repository without a remote, which is made and kept in Git's directory if it has none.

    Raises OSError if the file cannot be written.
    """
    prefix = _ODD.sub("-", root.name).strip("-.")[:60] or "project"
    path = identity.keep_in / KEPT
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"{prefix}-{secrets.token_hex(10)}\n")
    except FileExistsError:
        pass
    (name,) = _kept(identity.keep_in)
    return name


def _identity(common: Path, root: Path, clones: int) -> Identity:
    """Return the identity of a repository; of a clone on this machine that of its origin, through at most `clones`."""
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
    """Return the repository that a `.git` file, of a worktree or a submodule, leads to.

    The file may have come with the folder: it is believed if the repository leads back here.
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
    """Return that a directory belongs to another user, as Git checks it; None if it is the person's own or root's."""
    if not hasattr(os, "geteuid"):
        return None
    owner = path.stat().st_uid
    return None if owner in (os.geteuid(), 0) else f"{path} belongs to another user"
