"""Git's trees: files put into one, decisions read out of one, and the differences of two."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pygit2
from pygit2.enums import FileMode, ObjectType

from minutebook.features.ledger.git import markdown
from minutebook.features.ledger.git.objects import Objects, Tree, TreeEntry
from minutebook.features.ledger.lineage import Rule, Violation
from minutebook.record.errors import LedgerError
from minutebook.record.reason import Reason
from minutebook.record.records import Decision

MOST_FOLDERS = 10_000
"""Folders that one reading of a ledger enters; one of ours has 257 at most."""

DEEPEST = 64
"""Folders in one another that a path in a ledger names at most."""


class _Folders:
    """Counts the folders that a reading enters: a few small trees can hold one another in billions of paths."""

    def __init__(self) -> None:
        self._count = 0

    def enter(self, prefix: str) -> None:
        """Raise LedgerError if there are more folders, or deeper ones, than a ledger has."""
        self._count += 1
        if self._count > MOST_FOLDERS or prefix.count("/") > DEEPEST:
            raise LedgerError(
                "the ledger holds more than {most:,} folders, or more than {deepest} in one another",
                "take out of its folder what is none of its decisions, by a commit",
                most=MOST_FOLDERS,
                deepest=DEEPEST,
            )


@dataclass(frozen=True, slots=True)
class Layout:
    """Where in a repository the files of an organization's decisions lie.

    With `shards` they are spread over 256 folders, so that the trees that a commit writes stay small.
    """

    organization: str
    folder: str
    shards: bool

    def path(self, decision: Decision) -> str:
        """Return the path of a decision's file, relative to the top of the repository."""
        parts = [self.folder] if self.folder else []
        if self.shards:
            parts.append(markdown.shard(decision))
        return "/".join([*parts, markdown.file_name(decision)])

    def read(self, path: str, data: bytes) -> Decision | Violation:
        """Return the decision in a file, or the violation if it holds none or one that belongs elsewhere."""
        try:
            decision = markdown.parse(self.organization, data)
        except markdown.NotADecision as error:
            return Violation(Rule.READABLE, (path,), Reason(str(error)))
        if (belongs := self.path(decision)) != path:
            return Violation(
                Rule.PLACED,
                (decision.id,),
                "it lies in {path}, not in {belongs}",
                path=path,
                belongs=belongs,
            )
        return decision


def with_files(
    repository: pygit2.Repository,
    objects: Objects,
    tree: pygit2.Oid | None,
    files: Mapping[str, pygit2.Oid],
) -> pygit2.Oid:
    """Write a copy of a tree (None: an empty one) with these files added, blob ids by path; return its id.

    Raises LedgerError if a file stands where a folder is needed.
    """
    below: dict[str, dict[str, pygit2.Oid]] = {}
    entries: Tree = {} if tree is None else objects.tree(tree)
    builder = repository.TreeBuilder() if tree is None else repository.TreeBuilder(tree)
    for path, blob in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = blob
        else:
            builder.insert(name, blob, FileMode.BLOB)
    for name, rest_of_files in below.items():
        inner = entries.get(name)
        if inner is not None and not inner.is_tree:
            reason = "{name!r} is no folder in the repository"
            raise LedgerError(reason, "name another folder for the ledger", name=name)
        earlier = None if inner is None else inner.id
        subtree = with_files(repository, objects, earlier, rest_of_files)
        builder.insert(name, subtree, FileMode.TREE)
    written = builder.write()
    # Where a damaged file of that name was there already, Git leaves it as it is.
    objects.read(written, ObjectType.TREE)
    return written


def blob_at(objects: Objects, tree: pygit2.Oid | None, path: str) -> bytes | None:
    """Return the content of the file at a path, or None."""
    folder, _, name = path.rpartition("/")
    found = None if tree is None else folder_at(objects, tree, folder)
    entry = None if found is None else objects.tree(found).get(name)
    return objects.blob(entry.id) if entry is not None and entry.is_blob else None


def folder_at(objects: Objects, tree: pygit2.Oid, folder: str) -> pygit2.Oid | None:
    """Return the tree of a folder ("" for the top), or None."""
    for name in folder.split("/") if folder else ():
        entry = objects.tree(tree).get(name)
        if entry is None or not entry.is_tree:
            return None
        tree = entry.id
    return tree


def decisions_in(
    layout: Layout, objects: Objects, tree: pygit2.Oid
) -> Iterator[tuple[str, Decision | Violation]]:
    """Yield path and decision, or the violation that keeps it from being read, of each decision's file in a tree."""
    if (top := folder_at(objects, tree, layout.folder)) is not None:
        prefix = f"{layout.folder}/" if layout.folder else ""
        yield from _read_below(layout, objects, top, prefix, _Folders())


def differences(
    layout: Layout, objects: Objects, before: pygit2.Oid | None, after: pygit2.Oid
) -> Iterator[tuple[str, Decision | Violation | None, Decision | Violation | None]]:
    """Yield path, decision before and decision after for each decision's file that differs."""
    prefix = f"{layout.folder}/" if layout.folder else ""
    old = None if before is None else folder_at(objects, before, layout.folder)
    new = folder_at(objects, after, layout.folder)
    for path, *blobs in _changed_files(objects, old, new, prefix, _Folders()):
        one, other = (None if id is None else layout.read(path, objects.blob(id)) for id in blobs)
        yield path, one, other


def with_commit_id(decision: Decision, commit: pygit2.Oid | str) -> Decision:
    """Return the decision with `commit` set as the one that last wrote it."""
    return replace(decision, commit_id=str(commit))


def _read_below(
    layout: Layout, objects: Objects, tree: pygit2.Oid, prefix: str, folders: _Folders
) -> Iterator[tuple[str, Decision | Violation]]:
    """Yield path and decision of each Markdown file below a tree, in place of one that is no decision the violation."""
    folders.enter(prefix)
    for name, entry in objects.tree(tree).items():
        path = f"{prefix}{name}"
        if entry.is_tree:
            yield from _read_below(layout, objects, entry.id, f"{path}/", folders)
        elif entry.is_blob and markdown.is_file_name(name):
            yield path, layout.read(path, objects.blob(entry.id))


def _changed_files(
    objects: Objects,
    before: pygit2.Oid | None,
    after: pygit2.Oid | None,
    prefix: str,
    folders: _Folders,
) -> Iterator[tuple[str, pygit2.Oid | None, pygit2.Oid | None]]:
    """Yield path, blob before and blob after for each decision's file that differs between two trees."""
    # Git's own diff takes a time that grows with both trees, not with what differs.
    if before == after:
        return
    folders.enter(prefix)
    old: Tree = {} if before is None else objects.tree(before)
    new: Tree = {} if after is None else objects.tree(after)
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if one == other:
            continue
        path = f"{prefix}{name}"
        yield from _changed_files(objects, _as_tree(one), _as_tree(other), f"{path}/", folders)
        if markdown.is_file_name(name):
            yield path, _as_blob(one), _as_blob(other)


def _as_tree(entry: TreeEntry | None) -> pygit2.Oid | None:
    return entry.id if entry is not None and entry.is_tree else None


def _as_blob(entry: TreeEntry | None) -> pygit2.Oid | None:
    return entry.id if entry is not None and entry.is_blob else None
