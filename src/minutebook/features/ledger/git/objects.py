"""Git's objects, verified before anything uses them.

libgit2 never returns from a loose object that was cut short (a torn write), and holds the
interpreter's lock meanwhile. So loose objects are inflated and compared with their id here; what is
packed is read by libgit2, which gives up on damage. An id goes to libgit2 only after `read`.
"""

import hashlib
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode, ObjectType

from minutebook.record.errors import LedgerDamaged
from minutebook.record.reason import Reason

_KINDS = {
    kind.name.lower().encode(): kind
    for kind in (ObjectType.COMMIT, ObjectType.TREE, ObjectType.BLOB, ObjectType.TAG)
}
LARGEST = 64 * 2**20
"""Bytes of an object that is read: a file of a megabyte may unpack to a thousand."""

_TREES_KEPT = 64
"""Parsed trees that are kept in memory: those of a commit and its parents are asked for again at once."""

TRAILERS = ("Act", "Proof")
"""The trailers of a commit by an act of ours: the act's id, and the proof by which the store knows its own commit."""

_WHOLE_TREE = re.compile(rb"(?:[0-7]+ [^\0]+\0.{20})*", re.DOTALL)
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Commit:
    """The parts of a commit that we use; `at` is the committer's time in Unix seconds, `author` a name and address."""

    id: pygit2.Oid
    tree: pygit2.Oid
    parents: tuple[pygit2.Oid, ...]
    at: int
    author: str
    is_signed: bool
    trailers: Mapping[str, str]
    """The lines `Name: text` of the message's last paragraph whose names are in TRAILERS, by name."""


class TreeEntry(NamedTuple):
    """A file or folder in a tree; mode and id as Git writes them there."""

    mode: bytes
    raw: bytes

    @property
    def id(self) -> pygit2.Oid:
        """The id of the file or folder."""
        return pygit2.Oid(raw=self.raw)

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder."""
        return int(self.mode, 8) == FileMode.TREE

    @property
    def is_blob(self) -> bool:
        """Whether it is a file, or a symbolic link: neither a folder nor another repository."""
        return int(self.mode, 8) not in (FileMode.TREE, FileMode.COMMIT)


Tree = Mapping[str, TreeEntry]
"""The entries of a folder by name."""


class Ancestry(NamedTuple):
    """The commits that a commit adds to another, and whether it descends from that (True if none was given)."""

    commits: list[Commit]
    reaches_first: bool


class Objects:
    """Reads the objects of an open repository; each method raises LedgerDamaged if an object is missing or damaged.

    `path` names the ledger, and `remedy` says what to do, in these errors.
    """

    def __init__(self, repository: pygit2.Repository, path: Path, remedy: Reason) -> None:
        common = common_folder(repository)
        self._path = path
        self._remedy = remedy
        self._folders = _object_folders(common / "objects")
        self._common = common
        self._trees: OrderedDict[pygit2.Oid, Tree] = OrderedDict()

    @cached_property
    def _packs(self) -> list[pygit2.OdbBackendPack]:
        return [pygit2.OdbBackendPack(str(each)) for each in self._folders]

    @cached_property
    def _shallow(self) -> frozenset[pygit2.Oid]:
        return _shallow(self._common)

    def commit(self, id: pygit2.Oid) -> Commit:
        """Read a commit; without parents if a shallow clone left these out."""
        data = self.read(id, ObjectType.COMMIT)
        tree, parents, at, author, is_signed = None, [], 0, "", False
        head, _, message = data.partition(b"\n\n")
        try:
            for line in head.decode("utf-8", "replace").split("\n"):
                word, _, rest = line.partition(" ")
                if word == "tree" and tree is None:
                    tree = pygit2.Oid(hex=rest)
                elif word == "parent":
                    parents.append(pygit2.Oid(hex=rest))
                elif word == "committer":
                    at = int(rest.rsplit(" ", 2)[1])
                elif word == "author":
                    author = rest.rsplit(" ", 2)[0]
                elif word == "gpgsig":
                    is_signed = True
        except (ValueError, IndexError) as error:
            raise self._damaged(id, "is no whole commit ({error})", error=error) from error
        if tree is None:
            raise self._damaged(id, "is a commit without a tree")
        present = () if id in self._shallow else tuple(parents)
        return Commit(id, tree, present, at, author, is_signed, _trailers(message))

    def tree(self, id: pygit2.Oid) -> Tree:
        """Read a tree: its entries by name."""
        if (known := self._trees.get(id)) is not None:
            self._trees.move_to_end(id)
            return known
        data = self.read(id, ObjectType.TREE)
        if _WHOLE_TREE.fullmatch(data) is None:
            raise self._damaged(id, "is no whole tree")
        entries = {
            name.decode("utf-8", "surrogateescape"): TreeEntry(mode, raw)
            for mode, name, raw in _ENTRY.findall(data)
        }
        self._trees[id] = entries
        if len(self._trees) > _TREES_KEPT:
            self._trees.popitem(last=False)
        return entries

    def blob(self, id: pygit2.Oid) -> bytes:
        """Read a file's content."""
        return self.read(id, ObjectType.BLOB)

    def read(self, id: pygit2.Oid, kind: ObjectType) -> bytes:
        """Read an object of a kind and compare it with its id."""
        found = self._find(id)
        if found is None:
            # Packed, or packed anew, since the packs were listed.
            for pack in self._packs:
                pack.refresh()
            found = self._find(id)
        if found is None:
            raise self._damaged(id, "is missing")
        found_kind, content = found
        if found_kind != kind:
            there, wanted = found_kind.name.lower(), kind.name.lower()
            reason = "is a {there} where a {wanted} belongs"
            raise self._damaged(id, reason, there=there, wanted=wanted)
        return content

    def history(self, first: pygit2.Oid | None, last: pygit2.Oid) -> Ancestry:
        """Return `last` and its ancestors without `first` and its ancestors, parents before children.

        If a clock was wrong, some ancestors of `first` may be among them.
        """
        walk = _Walk(self, first)
        walk.show(last)
        while walk.is_open:
            walk.step()
        reaches_first = first in (None, last) or walk.reached_hidden
        return Ancestry(list(_parents_first(walk.found, last)), reaches_first)

    def damage(self, last: pygit2.Oid, folder: str) -> Iterator[LedgerDamaged]:
        """Yield an error for each damaged commit from `last` back to the first, and each damaged tree and file in `folder`."""
        seen = {last}
        waiting = [last]
        while waiting:
            try:
                commit = self.commit(waiting.pop())
            except LedgerDamaged as error:
                yield error
                continue
            yield from self._damage_below(commit.tree, folder, seen)
            for parent in commit.parents:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)

    def _damage_below(
        self, id: pygit2.Oid, folder: str, seen: set[pygit2.Oid]
    ) -> Iterator[LedgerDamaged]:
        """Yield the damage of the objects below a folder of a tree that are not in `seen`, and add them to it."""
        waiting = [(id, folder)]
        while waiting:
            id, folder = waiting.pop()
            if id in seen:
                continue
            seen.add(id)
            try:
                tree = self.tree(id)
            except LedgerDamaged as error:
                yield error
                continue
            name, _, rest = folder.partition("/")
            # On the way to the folder only the entry that leads there is followed.
            entries = list(tree.values()) if not name else [tree[name]] if name in tree else []
            for entry in entries:
                if entry.is_tree:
                    waiting.append((entry.id, rest))
                elif entry.is_blob and not name and entry.id not in seen:
                    seen.add(entry.id)
                    try:
                        self.blob(entry.id)
                    except LedgerDamaged as error:
                        yield error

    def _find(self, id: pygit2.Oid) -> tuple[ObjectType, bytes] | None:
        """Return kind and content of a loose or packed object; None if there is none. Raises LedgerDamaged."""
        damage: LedgerDamaged | None = None
        name = str(id)
        for folder in self._folders:
            file = f"{folder}/{name[:2]}/{name[2:]}"
            try:
                with open(file, "rb") as opened:  # noqa: PTH123  (read thousands of times)
                    return _inflate(opened.read(), name)
            except FileNotFoundError:
                continue
            except (ValueError, zlib.error) as error:
                damage = self._damaged(id, "is damaged: {file}: {error}", file=file, error=error)
        for folder, pack in zip(self._folders, self._packs, strict=True):
            try:
                if pack.read_header(id)[1] > LARGEST:
                    raise ValueError(_TOO_LARGE)
                kind, data = pack.read(id)
            except KeyError:
                continue
            except (pygit2.GitError, ValueError) as error:
                damage = damage or self._damaged(
                    id,
                    "is damaged, in a pack in {folder}: {error}",
                    folder=folder / "pack",
                    error=error,
                )
                continue
            found_kind = ObjectType(kind)
            if _digest(header_of(found_kind, data) + data) == name:
                return found_kind, data
            damage = damage or self._damaged(
                id,
                "is damaged, in a pack in {folder}: {other}",
                folder=folder / "pack",
                other=_OTHER,
            )
        if damage is not None:
            raise damage
        return None

    def _damaged(self, id: pygit2.Oid, reason: str, **values: object) -> LedgerDamaged:
        message = Reason(
            "{path}: the Git object {id} {reason}",
            path=self._path,
            id=id,
            reason=Reason(reason, **values),
        )
        return LedgerDamaged(message, self._remedy, str(id))


_OTHER = Reason("its content is not what its name says")


_TOO_LARGE = f"it unpacks to more than {LARGEST:,} bytes"


def _trailers(message: bytes) -> Mapping[str, str]:
    last = message.strip().rpartition(b"\n\n")[2].decode("utf-8", "replace")
    named = (line.partition(": ") for line in last.split("\n"))
    return {name: text for name, _, text in named if name in TRAILERS}


def packed(pack: Path) -> Iterator[tuple[str, bytes]]:
    """Yield id and content of every object in the repository that a pack file belongs to; none if it cannot be read."""
    objects = pack.parent.parent
    try:
        odb = pygit2.Odb(str(objects))
        for id in odb:
            yield str(id), odb.read(id)[1]
    except pygit2.GitError:
        return


def common_folder(repository: pygit2.Repository) -> Path:
    """Return Git's common directory, which all work trees of a repository share."""
    control = Path(repository.path)
    with suppress(FileNotFoundError):
        control = control / (control / "commondir").read_text(encoding="utf-8").strip()
    return control


def _inflate(raw: bytes, name: str) -> tuple[ObjectType, bytes]:
    """Return kind and content of a loose object. Raises ValueError or zlib.error if it is not the one of that name."""
    if not raw:
        raise ValueError("the file is empty")
    stream = zlib.decompressobj()
    data = stream.decompress(raw, LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(_TOO_LARGE)
    if not stream.eof:
        raise ValueError("the file ends too early")
    if stream.unused_data:
        raise ValueError("something stands behind its end")
    if _digest(data) != name:
        raise ValueError(_OTHER)
    head, _, content = data.partition(b"\0")
    kind = _KINDS.get(head.partition(b" ")[0])
    if kind is None:
        raise ValueError(_OTHER)
    return kind, content


def header_of(kind: ObjectType, content: bytes) -> bytes:
    """Return the header that Git puts before the content of an object: its kind and length."""
    return b"%s %d\0" % (kind.name.lower().encode(), len(content))


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _object_folders(folder: Path) -> list[Path]:
    """Return the object directory and its alternates (`objects/info/alternates`)."""
    folders: list[Path] = []
    waiting = [folder]
    while waiting:
        here = waiting.pop(0)
        if here in folders:
            continue
        folders.append(here)
        with suppress(OSError, UnicodeDecodeError):
            text = (here / "info" / "alternates").read_text(encoding="utf-8")
            lines = (line.strip() for line in text.splitlines())
            waiting += [here / line for line in lines if line and not line.startswith("#")]
    return folders


def _shallow(common: Path) -> frozenset[pygit2.Oid]:
    """Return the commits without parents in a shallow clone, which left these out."""
    try:
        text = (common / "shallow").read_text(encoding="ascii")
        return frozenset(pygit2.Oid(hex=line) for line in text.split())
    except (FileNotFoundError, ValueError):
        return frozenset()


class _Walk:
    """Visits commits, newest first, and leaves out the `hidden` one with all its ancestors.

    `found` has the others that were visited; `reached_hidden` tells whether one of them descends from it.
    """

    def __init__(self, objects: Objects, hidden: pygit2.Oid | None) -> None:
        self.found: dict[pygit2.Oid, Commit] = {}
        self.reached_hidden = False
        self._objects = objects
        self._first = hidden
        self._hidden: set[pygit2.Oid] = set()
        self._shown: set[pygit2.Oid] = set()
        self._waiting: list[tuple[int, str, Commit]] = []
        self._in_line: set[pygit2.Oid] = set()
        # How many of the waiting commits are shown, and the time of the oldest commit found.
        self._open = 0
        self._oldest = 0
        if hidden is not None:
            self._hide(hidden)

    @property
    def is_open(self) -> bool:
        """Whether the waiting commits may still change the result."""
        if self._open:
            return True
        # All that wait are hidden: they still matter if they are not older than all that were found.
        return bool(self.found and self._waiting and -self._waiting[0][0] >= self._oldest)

    def show(self, id: pygit2.Oid) -> None:
        """Queue a commit to be visited."""
        self.reached_hidden = self.reached_hidden or id == self._first
        if id not in self._shown and id not in self._hidden:
            self._shown.add(id)
            self._open += 1
            self._push(id)

    def step(self) -> None:
        """Visit the newest commit in the queue."""
        commit = heappop(self._waiting)[2]
        self._in_line.discard(commit.id)
        if commit.id in self._hidden:
            for parent in commit.parents:
                self._hide(parent)
            return
        self._open -= 1
        self._oldest = min(self._oldest, commit.at) if self.found else commit.at
        self.found[commit.id] = commit
        for parent in commit.parents:
            self.show(parent)

    def _hide(self, id: pygit2.Oid) -> None:
        """Leave out a commit, found before or not; the queue then comes to its parents."""
        if id in self._hidden:
            return
        self._hidden.add(id)
        if id in self._in_line:
            self._open -= 1
            return
        self.found.pop(id, None)
        self._push(id)

    def _push(self, id: pygit2.Oid) -> None:
        commit = self._objects.commit(id)
        self._in_line.add(id)
        heappush(self._waiting, (-commit.at, str(id), commit))


def _parents_first(found: Mapping[pygit2.Oid, Commit], last: pygit2.Oid) -> Iterator[Commit]:
    """Yield the commits of `found` that `last` can be reached from, each after its parents."""
    done: set[pygit2.Oid] = set()
    steps = [(last, False)]
    while steps:
        id, are_parents_done = steps.pop()
        if are_parents_done:
            yield found[id]
        elif id in found and id not in done:
            done.add(id)
            steps.append((id, True))
            steps += [(parent, False) for parent in found[id].parents]
