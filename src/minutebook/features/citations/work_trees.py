"""Work trees: which one a record of a repository is judged by, and whether its verdicts are still fresh."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from minutebook.features.citations.rows import JudgedRecord, Stamp
from minutebook.record.caller import Caller, WorkTree
from minutebook.record.records import Project

GIT = ".git"

NEVER: Stamp = (-1, -1)
"""The stamp that no file has."""


@dataclass(frozen=True)
class KnownTrees:
    """The work trees by which a caller's records may be judged: the caller's own, and the roots of visible projects."""

    own: WorkTree | None
    of_projects: Mapping[str | None, str]
    may_use_any: bool
    """Whether the caller owns this machine, and so may use any work tree that was judged by before."""

    def tree_of(self, repository: str | None, judged: Mapping[str, JudgedRecord]) -> str | None:
        """Return the work tree for a record of a repository, None if there is none; `judged` has its verdicts by work tree."""
        if self._root and (repository is None or repository in self._repositories):
            return self._root
        if (root := self.of_projects.get(repository)) is not None:
            return root
        return next(iter(sorted(judged)), None) if self.may_use_any else None

    @cached_property
    def _root(self) -> str | None:
        return None if self.own is None else tree_around(self.own.root)

    @property
    def _repositories(self) -> frozenset[str]:
        return frozenset() if self.own is None else self.own.repositories


def known_trees(caller: Caller, projects: Iterable[Project]) -> KnownTrees:
    """Return the work trees for a caller's records, by the projects that they may see.

    The work tree that a caller with a token claims is not trusted. A project that is only a folder of a repository is left
    out, as verdicts would tell of the rest of the repository.
    """
    is_owner = not caller.token
    roots = {each.repository: each.path for each in projects if tree_around(each.path) == each.path}
    return KnownTrees(caller.call.work_tree if is_owner else None, roots, is_owner)


def tree_around(folder: str) -> str | None:
    """Return the work tree that a folder is in, None if it is in none, or the path cannot be printed in a line."""
    around = (Path(folder), *Path(folder).parents)
    found = next((str(each) for each in around if os.path.lexists(each / GIT)), None)
    return found if found is not None and found.isprintable() else None


def stamp_of(root: str | Path, path: str) -> Stamp | None:
    """Return the stamp of a file, None if it is not there."""
    try:
        found = os.lstat(f"{root}/{path}")
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


class Freshness:
    """Tells whether verdicts are fresh; the last commit of each work tree is read once."""

    def __init__(self) -> None:
        self._head = cache(_head_of)

    def is_fresh(self, judged: JudgedRecord) -> bool:
        """Tell whether the files that the verdicts are about are the same; and the last commit, if one does not hold."""
        if any(stamp_of(judged.tree, path) != stamp for path, stamp in judged.stamps.items()):
            return False
        return judged.holds or judged.head == self._head(judged.tree)


def _head_of(tree: str) -> str:
    """Return the id of the last commit of a work tree; empty if Git cannot read it."""
    import pygit2

    try:
        return str(pygit2.Repository(tree).head.target)
    except (pygit2.GitError, OSError):
        return ""


def files_of(judged: JudgedRecord) -> Iterator[str]:
    """Yield the paths of the files that verdicts are about: where the cited code was, and where it is now."""
    for each in judged.judged:
        yield each.cited.path
        if each.where:
            yield each.where.rpartition(":")[0] if each.cited.definition else each.where
