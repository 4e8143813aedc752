"""Remotes, through which machines exchange files: a folder, a branch of a Git repository, a folder over SSH.

The last two keep a local copy of the remote, which is a folder with the same files.
"""

import hashlib
import io
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

from minutebook.record.errors import InvalidInput, StoreBusy, StoreError
from minutebook.record.reason import os_error_reason
from minutebook.store.disk.atomic_file import new_file, replace_file

FOLDERS = ("machines", "changes", "snapshots")
"""The folders of a remote: the own files of machines, files of changes, and snapshots."""

BRANCH = "minutebook-sync"
"""The branch of a Git repository that holds the files."""

_NAME = re.compile(r"[0-9a-z][0-9a-z.-]{0,100}")
_TRIES = 20


NewFiles: TypeAlias = Mapping[str, bytes | Path]
"""The content of files that never change, or the files with it, by name (`folder/file`)."""

OwnFiles: TypeAlias = Mapping[str, bytes]
"""The content of this machine's own file, which it replaces, by name."""


class NameTaken(Exception):
    """The remote has a file of this name with other content, although only this machine should write such a file."""


class Remote(Protocol):
    """A place for the files of machines, which never change, except one own file of each, which it replaces."""

    folder: Path
    """The folder in which the files can be read after `pull`."""

    def pull(self) -> None:
        """Bring the remote's files into `folder`. Raises StoreError if it cannot be reached."""

    def publish(self, new: NewFiles, own: OwnFiles, removed: Collection[str] = ()) -> None:
        """Add `new` files, replace this machine's `own` file, remove files; names are `folder/file`.

        A new file that is there already with the same content is left. Raises NameTaken if it has other
        content, StoreError if the remote cannot be written.
        """


def remote_of(text: str, cache: Path, folder: Path) -> Remote:
    """Return the remote that a person named, relative to `folder`; local copies of remotes are kept in `cache`.

    Raises InvalidInput if the text names no remote.
    """
    own = cache / hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if not text or text.startswith("-"):
        raise InvalidInput("REMOTE", "must be a folder, a Git repository or ssh://HOST/FOLDER")
    if "::" in text:
        raise InvalidInput("REMOTE", "must not name a Git helper (`::`)")
    path = folder / Path(text).expanduser()
    if path.is_dir():
        is_bare = (path / "HEAD").is_file() and (path / "objects").is_dir()
        return GitRemote(str(path), own) if is_bare else FolderRemote(path)
    if text.startswith("ssh://") and not text.endswith(".git"):
        return SshRemote(text, own)
    if "://" in text or text.endswith(".git") or re.match(r"[\w.-]+@[\w.-]+:", text):
        return GitRemote(text, own)
    raise InvalidInput(
        "REMOTE",
        "must be a folder that exists, a Git repository or ssh://HOST/FOLDER; there is no folder {given}: "
        "make it first, so that a name mistyped begins nothing",
        given=text,
    )


class FolderRemote:
    """A folder that the machines share: on a removable disk, a network drive, or synchronized by another program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def pull(self) -> None:
        """Do nothing: the files are there."""

    def publish(self, new: NewFiles, own: OwnFiles, removed: Collection[str] = ()) -> None:
        """Write and remove files; a file gets its name when it is whole. Raises StoreError if that fails."""
        try:
            for name, content in new.items():
                _put_new(self._place(name), content)
            for name, content in own.items():
                place = self._place(name)
                if not place.is_file() or place.read_bytes() != content:
                    replace_file(place, content)
            for name in removed:
                self._place(name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(os_error_reason(self.folder, error)) from error

    def _place(self, name: str) -> Path:
        place = self.folder.joinpath(*name.split("/"))
        if place.parent.is_symlink():
            raise StoreError("{path} is a link; it must be a folder", path=place.parent)
        place.parent.mkdir(exist_ok=True)
        return place


def names_in(folder: Path, kind: str) -> dict[str, int]:
    """Return the names of the files of a kind in a remote's folder, and their sizes.

    Raises StoreError if the folder cannot be read.
    """
    place = folder / kind
    if place.is_symlink() or not place.is_dir():
        return {}
    try:
        return {
            each.name: each.lstat().st_size
            for each in sorted(place.iterdir())
            if _NAME.fullmatch(each.name) and each.is_file() and not each.is_symlink()
        }
    except OSError as error:
        raise StoreError(os_error_reason(place, error)) from error


class GitRemote:
    """A branch of a Git repository; a push is a compare-and-swap, tried again if another machine pushed first."""

    def __init__(self, url: str, cache: Path) -> None:
        self._url = url
        self._git_folder = cache / "git"
        self.folder = cache / "files"
        self._files = FolderRemote(self.folder)
        self._base = ""

    def pull(self) -> None:
        """Bring the branch's latest commit, without its history."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self._git_folder / "HEAD").exists():
            self._git("init", "--quiet")
        # Locks left by a git that was killed; no other process uses this copy.
        for lock in self._git_folder.rglob("*.lock"):
            lock.unlink(missing_ok=True)
        self._base = self._head()
        if not self._base:
            shutil.rmtree(self.folder)
            self.folder.mkdir(mode=0o700)
            self._git("read-tree", "--empty")
            return
        here = self._git("rev-parse", "--quiet", "--verify", f"{self._base}^{{commit}}", fails=True)
        if not here:
            refspec = f"+refs/heads/{BRANCH}:refs/heads/pulled"
            self._git(
                *("fetch", "--quiet", "--depth=1", "--no-tags", "--update-head-ok", "--force"),
                *("--", self._url, refspec),
            )
            self._base = self._git("rev-parse", "refs/heads/pulled")
        self._git("read-tree", "--reset", "-u", self._base)
        self._git("checkout-index", "--all", "--force", "--quiet")
        self._git("clean", "--quiet", "-fdx")

    def publish(self, new: NewFiles, own: OwnFiles, removed: Collection[str] = ()) -> None:
        """Commit the files and push. If files are removed, the commit begins a new history, so that the branch stays small.

        Raises StoreBusy if others push all the time, StoreError if it cannot be pushed.
        """
        for _ in range(_TRIES):
            self._files.publish(new, own, removed)
            self._git("add", "--all", "--force", ".")
            tree = self._git("write-tree")
            if self._base and tree == self._git("rev-parse", f"{self._base}^{{tree}}"):
                return
            parent = ("-p", self._base) if self._base and not removed else ()
            commit = self._git("commit-tree", tree, *parent, "-m", "Sync")
            lease = f"--force-with-lease=refs/heads/{BRANCH}:{self._base}"
            target = f"{commit}:refs/heads/{BRANCH}"
            done = self._run("push", "--quiet", lease, "--", self._url, target)
            if done.returncode == 0:
                self._git("update-ref", "refs/heads/pulled", commit)
                self._base = commit
                return
            before = self._base
            self.pull()
            if self._base == before:
                raise StoreError(
                    "{url}: git push failed: {words}", url=self._url, words=_last(done.stderr)
                )
        raise StoreBusy("{url}: others kept pushing; try again", url=self._url)

    def _head(self) -> str:
        listed = self._git("ls-remote", "--", self._url, f"refs/heads/{BRANCH}")
        return listed.split()[0] if listed else ""

    def _git(self, *arguments: str, fails: bool = False) -> str:
        done = self._run(*arguments)
        if done.returncode and not fails:
            reason = "{url}: git {command} failed: {words}"
            raise StoreError(reason, url=self._url, command=arguments[0], words=_last(done.stderr))
        return "" if done.returncode else done.stdout.decode("utf-8", "replace").strip()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        settings = (
            *("user.name=minutebook", "user.email=minutebook@localhost", "commit.gpgSign=false"),
            *("core.hooksPath=/dev/null", "core.autocrlf=false", "core.symlinks=false"),
            *("core.attributesFile=/dev/null", "gc.auto=0", "protocol.ext.allow=never"),
        )
        options = [part for each in settings for part in ("-c", each)]
        places = (f"--git-dir={self._git_folder}", f"--work-tree={self.folder}")
        command = ["git", *places, *options, *arguments]
        return _call(command, b"", self.folder)


class SshRemote:
    """A folder on another machine, reached by `ssh` and that machine's sh, tar and ln."""

    def __init__(self, url: str, cache: Path) -> None:
        parts = urlsplit(url)
        if not parts.hostname or parts.hostname.startswith("-") or not parts.path.strip("/"):
            raise InvalidInput("REMOTE", "must name host and folder: ssh://HOST/FOLDER")
        user = f"{parts.username}@" if parts.username else ""
        port = ["-p", str(parts.port)] if parts.port else []
        self._ssh = ["ssh", *port, "--", f"{user}{parts.hostname}"]
        # As in Git's addresses, /~/x is below the home folder.
        home = parts.path.startswith("/~/")
        self._path = f'"$HOME"/{shlex.quote(parts.path[3:])}' if home else shlex.quote(parts.path)
        self._url = url
        self.folder = cache / "files"
        self._files = FolderRemote(self.folder)

    def pull(self) -> None:
        """Copy the files that are not here, and those that machines replace."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        listing = self._sh(
            'for f in sync.json machines/* changes/* snapshots/*; do [ -f "$f" ] && '
            'printf "%s %s\\n" "$(wc -c < "$f" | tr -d " ")" "$f"; done; true'
        )
        there = _listed(listing)
        for kind in FOLDERS:
            for name in names_in(self.folder, kind):
                if f"{kind}/{name}" not in there:
                    (self.folder / kind / name).unlink()
        if "sync.json" not in there:
            (self.folder / "sync.json").unlink(missing_ok=True)
        wanted = [name for name, size in there.items() if not self._has(name, size)]
        if wanted:
            self._unpack(self._sh(f"tar cf - {' '.join(wanted)}"), set(wanted))

    def publish(self, new: NewFiles, own: OwnFiles, removed: Collection[str] = ()) -> None:
        """Send the files in one connection; a file gets its name when it is whole."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, content in (*new.items(), *own.items()):
                data = content if isinstance(content, bytes) else content.read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o600
                tar.addfile(entry, io.BytesIO(data))
        part = f".part-{hashlib.sha256(packed.getvalue()).hexdigest()[:16]}"
        steps = [f"mkdir -p machines changes snapshots {part}", f"tar xf - -C {part}", "sync"]
        steps += [
            f"{{ ln {part}/{n} {n} 2>/dev/null || cmp -s {part}/{n} {n} || exit 9; }}" for n in new
        ]
        steps += [f"mv -f {part}/{name} {name}" for name in own]
        steps += [f"rm -f {name}" for name in removed]
        steps += [f"rm -rf {part}", "sync"]
        self._sh(" && ".join(steps), packed.getvalue())
        self._files.publish(new, own, removed)

    def _has(self, name: str, size: int) -> bool:
        place = self.folder / name
        is_fixed = name.startswith(("changes/", "snapshots/"))
        return is_fixed and place.is_file() and place.stat().st_size == size

    def _unpack(self, data: bytes, wanted: Collection[str]) -> None:
        try:
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
                for entry in tar:
                    content = tar.extractfile(entry) if entry.isreg() else None
                    if entry.name in wanted and content is not None:
                        place = self.folder / entry.name
                        place.parent.mkdir(exist_ok=True)
                        replace_file(place, content.read())
        except (tarfile.TarError, OSError) as error:
            raise StoreError(
                "{url}: what came is damaged ({error}); try again", url=self._url, error=error
            ) from error

    def _sh(self, script: str, data: bytes = b"") -> bytes:
        whole = f"cd {self._path} || exit 8; {script}"
        done = _call([*self._ssh, f"sh -c {shlex.quote(whole)}"], data, self.folder)
        if done.returncode == 9:
            raise NameTaken(self._url)
        if done.returncode == 8:
            raise StoreError("{url}: there is no such folder; make it first", url=self._url)
        if done.returncode:
            raise StoreError("{url}: ssh failed: {words}", url=self._url, words=_last(done.stderr))
        return done.stdout


def _listed(listing: bytes) -> dict[str, int]:
    """Return the sizes of files by name, from the output of the listing; foreign names are left out."""
    found = {}
    for line in listing.decode("utf-8", "replace").splitlines():
        size, _, name = line.partition(" ")
        kind, _, last = name.rpartition("/")
        is_ours = name == "sync.json" or (kind in FOLDERS and _NAME.fullmatch(last))
        if is_ours and size.isdigit():
            found[name] = int(size)
    return found


def _put_new(place: Path, content: bytes | Path) -> None:
    """Write a file that never changes. Raises NameTaken if there is one of its name with other content."""
    source = None if isinstance(content, bytes) else content
    try:
        with new_file(place, str(place)) as file:
            if source is None:
                file.write(content)  # type: ignore[arg-type]
            else:
                with source.open("rb") as read:
                    shutil.copyfileobj(read, file)
    except InvalidInput:
        if not place.is_file() or place.is_symlink():
            raise
        with place.open("rb") as there:
            digest = hashlib.file_digest(there, "sha256").digest()
        data = content if isinstance(content, bytes) else content.read_bytes()
        if digest != hashlib.sha256(data).digest():
            raise NameTaken(str(place)) from None


def _call(command: Sequence[str], data: bytes, folder: Path) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, input=data, capture_output=True, cwd=folder, check=False)  # noqa: S603
    except FileNotFoundError as error:
        raise StoreError(
            "the program {command} is needed and is not installed", command=command[0]
        ) from error


def _last(stderr: bytes) -> str:
    lines = [each for each in stderr.decode("utf-8", "replace").splitlines() if each.strip()]
    with suppress(IndexError):
        return lines[-1]
    return "no reason was given"
