"""Git's trees: files put into one, decisions read out of one, and what two of them differ in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pygit2
from pygit2.enums import FileMode, ObjectType

from minutebook.domain.errors import LedgerError
from minutebook.domain.lineage import Rule, Violation
from minutebook.domain.records import Decision
from minutebook.ledger import markdown


@dataclass(frozen=True, slots=True)
class Layout:
    """Where in a repository the files of decisions lie, and for which organization.

    With `shards`, 256 folders share them, so that the trees that a commit writes stay small.
    """

    organization: str
    folder: str
    shards: bool

    def path(self, decision: Decision) -> str:
        """Give the path of a decision's file, from the top of the repository."""
        parts = [self.folder] if self.folder else []
        if self.shards:
            parts.append(markdown.shard(decision))
        return "/".join([*parts, markdown.file_name(decision)])

    def read(self, path: str, data: bytes) -> Decision | Violation:
        """Read a file, or tell why it holds no decision that belongs there."""
        try:
            decision = markdown.read(self.organization, data)
        except markdown.NotADecision as error:
            return Violation(Rule.READABLE, (path,), str(error))
        if (belongs := self.path(decision)) != path:
            return Violation(Rule.PLACED, (decision.id,), f"it lies in {path}, not in {belongs}")
        return decision


def with_files(
    repository: pygit2.Repository, tree: pygit2.Tree | None, files: Mapping[str, pygit2.Oid]
) -> pygit2.Oid:
    """Write a tree that has these files, by path, beside what another tree has."""
    here = {path: blob for path, blob in files.items() if "/" not in path}
    below: dict[str, dict[str, pygit2.Oid]] = {}
    for path, blob in files.items():
        folder, slash, rest = path.partition("/")
        if slash:
            below.setdefault(folder, {})[rest] = blob
    builder = repository.TreeBuilder() if tree is None else repository.TreeBuilder(tree)
    for name, blob in here.items():
        builder.insert(name, blob, FileMode.BLOB)
    for name, rest_of_files in below.items():
        inner = tree[name] if tree is not None and name in tree else None
        if inner is not None and not isinstance(inner, pygit2.Tree):
            raise LedgerError(
                f"{name!r} is no folder in the repository", "name another folder for the ledger"
            )
        builder.insert(name, with_files(repository, inner, rest_of_files), FileMode.TREE)
    return builder.write()


def blob_at(tree: pygit2.Tree | None, path: str) -> pygit2.Blob | None:
    """Give the file at a path, or None."""
    if tree is None or path not in tree:
        return None
    found = tree[path]
    return found if isinstance(found, pygit2.Blob) else None


def decisions_in(
    layout: Layout, tree: pygit2.Tree | None
) -> Iterator[tuple[str, Decision | Violation]]:
    """Read every decision that a tree holds, by path."""
    if (top := _folder(layout, tree)) is not None:
        yield from _read_below(layout, top, f"{layout.folder}/" if layout.folder else "")


def differences(
    repository: pygit2.Repository,
    layout: Layout,
    before: pygit2.Tree | None,
    after: pygit2.Tree | None,
) -> Iterator[tuple[str, Decision | Violation | None, Decision | Violation | None]]:
    """Give path, decision before and decision after for each file of a decision that differs."""
    old, new = _folder(layout, before), _folder(layout, after)
    if (old is None and new is None) or (old is not None and new is not None and old.id == new.id):
        return
    if old is not None:
        diff = old.diff_to_tree(new) if new is not None else old.diff_to_tree(swap=False)
    else:
        assert new is not None
        diff = new.diff_to_tree(swap=True)
    prefix = f"{layout.folder}/" if layout.folder else ""
    for delta in diff.deltas:
        path = delta.new_file.path or delta.old_file.path
        if markdown.is_file_name(path.rpartition("/")[2]):
            path = prefix + path
            yield (
                path,
                _read_blob(repository, layout, path, delta.old_file.id),
                _read_blob(repository, layout, path, delta.new_file.id),
            )


def stamped(decision: Decision, commit: pygit2.Oid | str) -> Decision:
    """Note the commit that last wrote a decision."""
    return replace(decision, commit_id=str(commit))


def _folder(layout: Layout, tree: pygit2.Tree | None) -> pygit2.Tree | None:
    if tree is None or not layout.folder:
        return tree
    if layout.folder not in tree:
        return None
    found = tree[layout.folder]
    return found if isinstance(found, pygit2.Tree) else None


def _read_below(
    layout: Layout, tree: pygit2.Tree, prefix: str
) -> Iterator[tuple[str, Decision | Violation]]:
    for entry in tree:
        path = f"{prefix}{entry.name}"
        if isinstance(entry, pygit2.Tree):
            yield from _read_below(layout, entry, f"{path}/")
        elif isinstance(entry, pygit2.Blob) and markdown.is_file_name(entry.name or ""):
            yield path, layout.read(path, entry.data)


def _read_blob(
    repository: pygit2.Repository, layout: Layout, path: str, blob: pygit2.Oid
) -> Decision | Violation | None:
    if not any(blob.raw):
        return None
    kind, data = repository.odb.read(blob)
    if kind != ObjectType.BLOB:
        return Violation(Rule.READABLE, (path,), "it is no file")
    return layout.read(path, data)
