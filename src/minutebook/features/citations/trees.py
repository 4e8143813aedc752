"""The files of a project at a commit and in its folder, and the changes between the two."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption, FileMode

from minutebook.features.citations.cited import Cited, CodeDefinition
from minutebook.features.citations.definitions import definitions_of
from minutebook.features.code.chunking.files import MAX_BYTES, decode, is_text, read_regular
from minutebook.features.code.references import file_meant
from minutebook.record.errors import InvalidInput

MOST_FILES = 20_000
"""The most files of a repository that is read unasked."""

MOST_SEARCHED = 1_000
"""The most files of a change that are searched."""

MOST_KEPT = 1 << 28
"""Bytes of files that are kept in memory; others are read each time."""

UNREADABLE = (pygit2.GitError, LookupError, ValueError, OSError)
"""The errors of pygit2 if a folder has no repository, or one that is damaged or cut off."""

PROJECT = "--project"

_IN_FOLDER = DiffOption.INCLUDE_UNTRACKED | DiffOption.RECURSE_UNTRACKED_DIRS
_FOLLOWED = DiffFind.FIND_RENAMES | DiffFind.FIND_FOR_UNTRACKED


@contextmanager
def reading_git(argument: str = PROJECT) -> Iterator[None]:
    """Raise InvalidInput about an argument if Git fails to read a repository in the block."""
    try:
        yield
    except UNREADABLE as error:
        reason = git_reason(error)
        raise InvalidInput(argument, "cannot be read by Git: {reason}", reason=reason) from error


def git_reason(error: Exception) -> str:
    """Return the text of an error of pygit2, of a KeyError without the quotation marks."""
    return str(error.args[0] if isinstance(error, KeyError) and error.args else error)


def open_repository(folder: Path, argument: str = PROJECT) -> pygit2.Repository:
    """Open the repository around a folder. Raises InvalidInput if there is none with commits and files, or Git cannot read it."""
    with reading_git(argument):
        folder = folder.absolute()
        found = pygit2.discover_repository(str(folder))
        if found is None:
            raise InvalidInput(argument, "is in no Git repository: {folder}", folder=str(folder))
        repository = pygit2.Repository(found)
        if repository.is_bare:
            raise InvalidInput(argument, "has no files, it is bare: {folder}", folder=str(folder))
        if repository.head_is_unborn:
            raise InvalidInput(argument, "has no commit yet: {folder}", folder=str(folder))
        repository.head.peel(pygit2.Commit)
    return repository


def check_not_shallow(repository: pygit2.Repository) -> None:
    """Raise InvalidInput if the history of a repository is cut off."""
    if repository.is_shallow:
        raise InvalidInput(
            PROJECT, "has no history, it is a shallow clone: `git fetch --unshallow` brings it"
        )


def check_size(repository: pygit2.Repository) -> None:
    """Raise InvalidInput if a repository has more than MOST_FILES files, or its history is cut off."""
    check_not_shallow(repository)
    if len(repository.index) > MOST_FILES:
        raise InvalidInput(PROJECT, "has more than {most:,} files", most=MOST_FILES)


def commit_named(repository: pygit2.Repository, option: str, name: str) -> pygit2.Commit:
    """Return the commit with a name that was given to an option. Raises InvalidInput if there is none."""
    try:
        return repository.revparse_single(name).peel(pygit2.Commit)
    except UNREADABLE as error:
        remedy = "names no commit here: {name}; fetch it first (`git fetch origin {name}`)"
        raise InvalidInput(option, remedy, name=name) from error


def file_id(commit: pygit2.Commit, path: str) -> pygit2.Oid | None:
    """Return the id of the content of a path at a commit, None if the path does not exist there."""
    return commit.tree[path].id if path in commit.tree else None


class FileTree(Protocol):
    """Files by their paths."""

    @property
    def paths(self) -> Mapping[str, object]:
        """The paths, with forward slashes."""

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, None if it is no text, too large or cannot be read."""


class ContentCache:
    """A cache of the contents of text files, up to MOST_KEPT bytes; others are read each time."""

    def __init__(self) -> None:
        self._kept: dict[object, bytes | None] = {}
        self._room = MOST_KEPT

    def get(self, key: str | pygit2.Oid, read: Callable[[], bytes | None]) -> bytes | None:
        """Return the content with a key, by `read` if it is not cached; None if it is no text, or too large."""
        if key in self._kept:
            return self._kept[key]
        data = read()
        if data is not None and (len(data) > MAX_BYTES or not is_text(data)):
            data = None
        self._room -= len(data or b"")
        if self._room > 0:
            self._kept[key] = data
        return data


class Blobs:
    """The texts in a repository; None for a file that is no text, too large, or missing in a partial clone."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self.repository = repository
        self._contents = ContentCache()

    def read(self, id: pygit2.Oid) -> bytes | None:
        """Return the content of a blob."""
        return self._contents.get(id, lambda: self._data(id))

    def _data(self, id: pygit2.Oid) -> bytes | None:
        blob = self.repository.get(id)
        return blob.data if isinstance(blob, pygit2.Blob) and blob.size <= MAX_BYTES else None

    def lines(self, id: pygit2.Oid) -> list[str] | None:
        """Return the lines of a blob."""
        data = self.read(id)
        return None if data is None else decode(data).splitlines()


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
        """Yield path and id of each file below a tree, without links."""
        folders = [(tree, prefix)]
        while folders:
            tree, prefix = folders.pop()
            for entry in tree:
                if isinstance(entry, pygit2.Tree):
                    folders.append((entry, f"{prefix}{entry.name}/"))
                elif isinstance(entry, pygit2.Blob) and entry.filemode != FileMode.LINK:
                    yield f"{prefix}{entry.name}", entry.id

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, None if it is no text, too large or not there, as in a submodule."""
        id = self.paths.get(path)
        return None if id is None else self._blobs.read(id)


class FolderTree:
    """The files of a work tree; those that do not differ from a commit are read from the commit.

    `now` and `added` say which differ, as in `TreeComparison`.
    """

    def __init__(
        self, root: Path, base: CommitTree, now: Mapping[str, str | None], added: frozenset[str]
    ) -> None:
        self._root = root
        self._base = base
        self._differing = added | {path for path in now.values() if path is not None}
        gone = now.keys() - self._differing
        self.paths: Mapping[str, object] = dict.fromkeys(base.paths.keys() - gone | self._differing)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, None if it is no text, too large, a link or a pipe, or cannot be read."""
        if path not in self._differing:
            return self._base.read(path)
        try:
            return read_regular(str(self._root / path), MAX_BYTES + 1)[0]
        except OSError:
            return None


class SearchedTree:
    """A tree of files in which definitions are looked up; each file is read and parsed once."""

    def __init__(self, files: FileTree) -> None:
        self._files = files
        self._contents = ContentCache()
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
        """Return the path of the file that a path in a text means: that itself, or the only one that ends with it; else None."""
        if path in self:
            return path
        return file_meant(path, self._by_name[path.rpartition("/")[2]])

    def has_named(self, path: str) -> bool:
        """Tell whether there is a file at a path, or at one that ends with it."""
        return any(
            f"/{each}".endswith(f"/{path}") for each in self._by_name[path.rpartition("/")[2]]
        )

    def is_text(self, path: str) -> bool:
        """Tell whether a file can be read as a text."""
        return self._content(path) is not None

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file; none if it is no text."""
        return decode(self._content(path) or b"").splitlines()

    def definitions(self, path: str) -> list[CodeDefinition]:
        """Return the definitions of a file."""
        if path not in self._definitions:
            self._definitions[path] = definitions_of(path, decode(self._content(path) or b""))
        return self._definitions[path]

    def defined(
        self, symbol: tuple[str, ...], among: frozenset[str] | None = None
    ) -> list[CodeDefinition]:
        """Return the definitions that a symbol may mean, in the files `among` all (None: all).

        It ends with the definition's own name, after names of its module or of definitions around it.
        """
        name = symbol[-1].encode()
        found = [
            each
            for path in (self._files.paths if among is None else sorted(among))
            if name in (self._content(path) or b"")
            for each in self.definitions(path)
            if is_meant(symbol, each)
        ]
        # A value is meant only if no definition has the name.
        return [each for each in found if not each.is_value] or found

    def _content(self, path: str) -> bytes | None:
        return self._contents.get(path, lambda: self._files.read(path))


def is_meant(symbol: tuple[str, ...], definition: CodeDefinition) -> bool:
    """Tell whether a symbol may mean a definition."""
    modules = definition.path.rpartition(".")[0].split("/")
    whole = (*modules, *definition.names)
    return whole[-len(symbol) :] == symbol and definition.names[-1] == symbol[-1]


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """The changes between two trees of a project.

    `now` has the path of each changed file after the change by its path before it: the same, that to which it was
    renamed, or None if it is gone. `added` are the new files.
    """

    before: SearchedTree
    after: SearchedTree
    now: Mapping[str, str | None]
    added: frozenset[str]

    @property
    def differing(self) -> frozenset[str]:
        """The paths after the change of files that are new or changed."""
        return self.added | {path for path in self.now.values() if path is not None}

    def definitions_elsewhere(self, path: str | None, name: str) -> list[CodeDefinition]:
        """Return the definitions of the other files that differ; only those with a name if there are many files."""
        files = self.differing - {path}
        if len(files) > MOST_SEARCHED:
            return self.after.defined((name,), files)
        return [each for other in sorted(files) for each in self.after.definitions(other)]

    def can_judge(self, cited: Cited) -> bool:
        """Tell whether a citation can be judged: if that takes the file's content, it must be a text that can be read."""
        path = self.now.get(cited.path)
        is_exact = cited.definition is not None or cited.lines is not None
        return path is None or not is_exact or self.after.is_text(path)

    def with_changed(self, path: str) -> "TreeComparison":
        """Return the comparison with a file counted as changed, as it had uncommitted code when that was cited."""
        now = self.now.get(path, path if path in self.after else None)
        return replace(self, now={**self.now, path: now})


def compared_with_folder(
    blobs: Blobs, base: pygit2.Commit, before: SearchedTree | None = None
) -> TreeComparison:
    """Compare a commit with the work tree as it is; `before` is the commit's tree if it was read already."""
    tree = CommitTree(blobs, base)
    # With a copy of the index Git knows unchanged files by their times, and reads only the others.
    index = pygit2.Repository(blobs.repository.path).index
    index.read_tree(base.tree)
    now, added = _changes(index.diff_to_workdir(_IN_FOLDER))
    for path in _not_checked_out(blobs.repository, now):
        if tree.paths.get(path) == blobs.repository.index[path].id:
            del now[path]
        else:
            now[path] = path
    after = FolderTree(Path(blobs.repository.workdir), tree, now, added)
    return TreeComparison(before or SearchedTree(tree), SearchedTree(after), now, added)


def _not_checked_out(repository: pygit2.Repository, now: Mapping[str, str | None]) -> list[str]:
    """Return the files of the index that a sparse work tree (`git sparse-checkout`) leaves out."""
    name, config = "core.sparseCheckout", repository.config
    if name not in config or not config.get_bool(name):
        return []
    return [path for path, where in now.items() if where is None and path in repository.index]


def compared_commits(blobs: Blobs, base: pygit2.Commit, later: pygit2.Commit) -> TreeComparison:
    """Compare two commits."""
    now, added = _changes(base.tree.diff_to_tree(later.tree))
    before, after = (SearchedTree(CommitTree(blobs, each)) for each in (base, later))
    return TreeComparison(before, after, now, added)


def _changes(diff: pygit2.Diff) -> tuple[dict[str, str | None], frozenset[str]]:
    """Return `now` and `added` of a TreeComparison from a diff."""
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
