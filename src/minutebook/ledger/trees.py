"""Git's trees: files put into one, decisions read out of one, and what two of them differ in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pygit2
from pygit2.enums import FileMode

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
    layout: Layout,
    before: pygit2.Tree | None,
    after: pygit2.Tree | None,
) -> Iterator[tuple[str, Decision | Violation | None, Decision | Violation | None]]:
    """Give path, decision before and decision after for each file of a decision that differs."""
    prefix = f"{layout.folder}/" if layout.folder else ""
    for path, old, new in _changed(_folder(layout, before), _folder(layout, after), prefix):
        yield path, _read_blob(layout, path, old), _read_blob(layout, path, new)


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


def _changed(
    before: pygit2.Tree | None, after: pygit2.Tree | None, prefix: str
) -> Iterator[tuple[str, pygit2.Blob | None, pygit2.Blob | None]]:
    # Not Git's own diff: it takes a time that grows with both trees, not with what differs.
    if before is not None and after is not None and before.id == after.id:
        return
    old = {} if before is None else {str(each.name): each for each in before}
    new = {} if after is None else {str(each.name): each for each in after}
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if one is not None and other is not None and one.id == other.id:
            continue
        path = f"{prefix}{name}"
        yield from _changed(_as_tree(one), _as_tree(other), f"{path}/")
        if markdown.is_file_name(name):
            yield path, _as_blob(one), _as_blob(other)


def _as_tree(entry: object) -> pygit2.Tree | None:
    return entry if isinstance(entry, pygit2.Tree) else None


def _as_blob(entry: object) -> pygit2.Blob | None:
    return entry if isinstance(entry, pygit2.Blob) else None


def _read_blob(layout: Layout, path: str, blob: pygit2.Blob | None) -> Decision | Violation | None:
    return None if blob is None else layout.read(path, blob.data)
