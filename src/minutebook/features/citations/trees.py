"""The files of a project at a commit and in its folder, and the changes between the two."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption, FileMode, ObjectType

from minutebook.domain.errors import InvalidInput
from minutebook.features.citations.cited import CodeDefinition
from minutebook.features.citations.definitions import definitions_of
from minutebook.features.code.chunking.files import MAX_BYTES, decode
from minutebook.features.code.references import file_meant

MOST_FILES = 20_000
"""Files of a repository that are read unasked, at most."""

_IN_FOLDER = DiffOption.INCLUDE_UNTRACKED | DiffOption.RECURSE_UNTRACKED_DIRS
_FOLLOWED = DiffFind.FIND_RENAMES | DiffFind.FIND_FOR_UNTRACKED


def open_repository(folder: Path) -> pygit2.Repository:
    """Open the repository around a folder. Raises InvalidInput if there is none with commits and files, or Git cannot read it."""
    try:
        found = pygit2.discover_repository(str(folder))
        if found is None:
            raise InvalidInput("--project", "is in no Git repository: {folder}", folder=str(folder))
        repository = pygit2.Repository(found)
        if repository.is_bare:
            raise InvalidInput(
                "--project", "has no files, it is bare: {folder}", folder=str(folder)
            )
        if repository.head_is_unborn:
            raise InvalidInput("--project", "has no commit yet: {folder}", folder=str(folder))
    except pygit2.GitError as error:
        raise InvalidInput(
            "--project", "cannot be read by Git: {reason}", reason=str(error)
        ) from error
    return repository


def check_size(repository: pygit2.Repository) -> None:
    """Raise InvalidInput if a repository has more than MOST_FILES files, or its history is cut off."""
    if repository.is_shallow:
        raise InvalidInput("--project", "has no history: it is a shallow clone")
    if len(repository.index) > MOST_FILES:
        raise InvalidInput("--project", "has more than {most:,} files", most=MOST_FILES)


def commit_named(repository: pygit2.Repository, option: str, name: str) -> pygit2.Commit:
    """Return the commit of a name that was given to an option. Raises InvalidInput if there is none."""
    try:
        return repository.revparse_single(name).peel(pygit2.Commit)
    except (KeyError, ValueError, pygit2.InvalidSpecError) as error:
        remedy = "names no commit here: {name}; fetch it first (`git fetch origin {name}`)"
        raise InvalidInput(option, remedy, name=name) from error


def file_id(commit: pygit2.Commit, path: str) -> pygit2.Oid | None:
    """Return the id of a path's content at a commit, None if there is nothing."""
    return commit.tree[path].id if path in commit.tree else None


class FileTree(Protocol):
    """Files by their paths."""

    @property
    def paths(self) -> Mapping[str, object]:
        """The paths, with forward slashes."""

    def read(self, path: str) -> bytes:
        """Return the content of a file; none of one that is too large or cannot be read."""


class Blobs:
    """The contents of files in a repository, each read once; empty for one that is too large, or that a partial clone lacks."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self.repository = repository
        self._read: dict[pygit2.Oid, bytes] = {}

    def read(self, id: pygit2.Oid) -> bytes:
        """Return the content of a blob."""
        if id not in self._read:
            blob = self.repository.get(id)
            if isinstance(blob, pygit2.Blob) and blob.size <= MAX_BYTES:
                self._read[id] = blob.data
        return self._read.setdefault(id, b"")

    def text(self, id: pygit2.Oid) -> str:
        """Return the text of a blob."""
        return decode(self.read(id))


class CommitTree:
    """The files of a commit."""

    def __init__(self, blobs: Blobs, commit: pygit2.Commit) -> None:
        self._blobs = blobs
        self.commit = commit

    @cached_property
    def paths(self) -> Mapping[str, pygit2.Oid]:
        """The paths, and the id of each content."""
        return dict(self._below(self.commit.tree, ""))

    def _below(self, tree: pygit2.Tree, prefix: str) -> Iterator[tuple[str, pygit2.Oid]]:
        folders = [(tree, prefix)]
        while folders:
            tree, prefix = folders.pop()
            for entry in tree:
                if entry.filemode == FileMode.TREE:
                    folders.append(
                        (
                            self._blobs.repository[entry.id].peel(pygit2.Tree),
                            f"{prefix}{entry.name}/",
                        )
                    )
                elif entry.type == ObjectType.BLOB and entry.filemode != FileMode.LINK:
                    yield f"{prefix}{entry.name}", entry.id

    def read(self, path: str) -> bytes:
        """Return the content of a file; none of one that is too large."""
        return self._blobs.read(self.paths[path])


class FolderTree:
    """The files of a work tree, of which Git says which differ from a commit; the rest are the commit's."""

    def __init__(
        self, root: Path, same: CommitTree, now: Mapping[str, str | None], added: frozenset[str]
    ) -> None:
        self._root = root
        self._same = same
        self._differing = added | {path for path in now.values() if path is not None}
        gone = now.keys() - self._differing
        self.paths: Mapping[str, object] = dict.fromkeys(same.paths.keys() - gone | self._differing)

    def read(self, path: str) -> bytes:
        """Return the content of a file; none of one that is too large, a link, or cannot be read."""
        if path not in self._differing:
            return self._same.read(path)
        place = self._root / path
        try:
            if place.is_symlink() or place.stat().st_size > MAX_BYTES:
                return b""
            return place.read_bytes()
        except OSError:
            return b""


class SearchedTree:
    """A tree in which definitions are looked up; each file is read and parsed once."""

    def __init__(self, files: FileTree) -> None:
        self._files = files
        self._contents: dict[str, bytes] = {}
        self._definitions: dict[str, list[CodeDefinition]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._files.paths

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        found = defaultdict[str, list[str]](list)
        for path in self._files.paths:
            found[path.rpartition("/")[2]].append(path)
        return found

    def file_named(self, path: str) -> str | None:
        """Return the path of the file that a text means: it, or the only one that ends with it; else None."""
        if path in self:
            return path
        return file_meant(path, self._by_name[path.rpartition("/")[2]])

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file."""
        return decode(self._content(path)).splitlines()

    def definitions(self, path: str) -> list[CodeDefinition]:
        """Return the definitions of a file."""
        if path not in self._definitions:
            self._definitions[path] = definitions_of(path, decode(self._content(path)))
        return self._definitions[path]

    def defined(
        self, symbol: tuple[str, ...], among: frozenset[str] | None = None
    ) -> list[CodeDefinition]:
        """Return the definitions that a name may mean, in some files (None: all).

        It ends with the definition's own name; the names before that are of its module, or of definitions around it.
        """
        name = symbol[-1].encode()
        return [
            each
            for path in (self._files.paths if among is None else sorted(among))
            if name in self._content(path)
            for each in self.definitions(path)
            if is_meant(symbol, each)
        ]

    def _content(self, path: str) -> bytes:
        if path not in self._contents:
            self._contents[path] = self._files.read(path)
        return self._contents[path]


def is_meant(symbol: tuple[str, ...], definition: CodeDefinition) -> bool:
    """Tell whether a name may mean a definition."""
    modules = definition.path.rpartition(".")[0].split("/")
    whole = (*modules, *definition.names)
    return whole[-len(symbol) :] == symbol and definition.names[-1] == symbol[-1]


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """A project before, and after.

    `now` has of each file that changed where it is: at its path, at the one to which it was renamed, None where it is gone.
    `added` are the files that are new.
    """

    before: SearchedTree
    after: SearchedTree
    now: Mapping[str, str | None]
    added: frozenset[str]

    @property
    def differing(self) -> frozenset[str]:
        """The files after that are new or changed."""
        return self.added | {path for path in self.now.values() if path is not None}

    def with_changed(self, path: str) -> "TreeComparison":
        """Return the comparison with a file that was another when something new in it was cited."""
        where = self.now.get(path, path if path in self.after else None)
        return replace(self, now={**self.now, path: where})


def compared_with_folder(
    blobs: Blobs, base: pygit2.Commit, before: SearchedTree | None = None
) -> TreeComparison:
    """Compare a commit with the work tree as it is; `before` is the commit's tree if it was read already."""
    same = CommitTree(blobs, base)
    now, added = _changes(blobs.repository.diff(base, None, flags=_IN_FOLDER))
    after = FolderTree(Path(blobs.repository.workdir), same, now, added)
    return TreeComparison(before or SearchedTree(same), SearchedTree(after), now, added)


def compared_commits(blobs: Blobs, base: pygit2.Commit, later: pygit2.Commit) -> TreeComparison:
    """Compare two commits."""
    now, added = _changes(blobs.repository.diff(base, later))
    before, after = (SearchedTree(CommitTree(blobs, each)) for each in (base, later))
    return TreeComparison(before, after, now, added)


def _changes(diff: pygit2.Diff) -> tuple[Mapping[str, str | None], frozenset[str]]:
    diff.find_similar(flags=_FOLLOWED)
    now: dict[str, str | None] = {}
    added = set()
    for delta in diff.deltas:
        old, new = delta.old_file.path, delta.new_file.path
        if delta.status in {DeltaStatus.ADDED, DeltaStatus.UNTRACKED, DeltaStatus.COPIED}:
            added.add(new)
        elif delta.status == DeltaStatus.DELETED:
            now[old] = None
        elif delta.status != DeltaStatus.IGNORED:
            now[old] = new
    return now, frozenset(added)
