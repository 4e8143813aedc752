"""A ledger in Git: where it lies, how it is opened, and how far its branch has come."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol

import pygit2
from pygit2.enums import ObjectType

from minutebook.features.ledger.git.errors import translate_errors
from minutebook.features.ledger.git.objects import Objects
from minutebook.features.ledger.git.trees import Layout, folder_at
from minutebook.record.errors import LedgerError
from minutebook.record.reason import Reason
from minutebook.store.disk.atomic_file import scratch_folder, sync_folder, sync_tree

_OWN_BRANCH = "main"

_REMEDY_OWN = Reason(
    "run `git fsck` there to see all that is damaged; put those files back from a backup, or move "
    "the folder away and run `minutebook ledger rebuild`, which writes the decisions anew"
)
_REMEDY_SHARED = Reason(
    "run `git fsck` there to see all that is damaged; put those files back from a backup, or clone "
    "the repository anew from where it was pushed to"
)


class CommitRight(Protocol):
    """The right to commit, which another server may take over meanwhile."""

    def check(self) -> None:
        """Raise an error if it was lost; else it stays until the transaction ends."""


CommitLock = Callable[[], AbstractContextManager[CommitRight | None]]
"""Holds the lock that our processes take before they commit to a repository.

The context is None if another process held the lock for too long.
"""


Durability = Literal["full", "normal"]
"""`full`: an acknowledged act survives a power cut; `normal`: a killed process."""


class Repository:
    """A Git repository, or a folder in one, that holds one organization's decisions."""

    def __init__(
        self,
        path: Path,
        layout: Layout,
        commit_lock: CommitLock,
        *,
        is_managed: bool,
        durability: Durability,
        wait: float = 10.0,
    ) -> None:
        self.path = path
        self.layout = layout
        self.is_managed = is_managed
        self.commit_lock = commit_lock
        self.wait = wait
        """Seconds for which an act waits for locks of other Git commands."""
        self._durability = durability

    @classmethod
    def managed(
        cls, path: Path, organization: str, commit_lock: CommitLock, durability: Durability = "full"
    ) -> "Repository":
        """Keep a ledger in a repository of its own, without a work tree, made by the first act."""
        layout = Layout(organization, "", shards=True)
        return cls(path, layout, commit_lock, is_managed=True, durability=durability)

    @classmethod
    def external(
        cls,
        path: Path,
        folder: str,
        organization: str,
        commit_lock: CommitLock,
        durability: Durability = "full",
    ) -> "Repository":
        """Keep a ledger in a folder of a person's repository, on the branch that is checked out."""
        layout = Layout(organization, folder.strip("/"), shards=False)
        return cls(path, layout, commit_lock, is_managed=False, durability=durability)

    def open(self) -> pygit2.Repository:
        """Open the repository. Raises LedgerError if there is none, or it cannot be read."""
        with translate_errors(self.path):
            # libgit2 has this setting once for the whole process.
            pygit2.settings.enable_fsync_gitdir(self._durability == "full")
            if self.is_managed and not self.path.exists():
                self._make()
            try:
                return pygit2.Repository(str(self.path))
            except pygit2.GitError as error:
                if self.is_managed or "not owned" in str(error):
                    raise
                remedy = "run `git init` there, or name another"
                raise LedgerError("{path} is no Git repository", remedy, path=self.path) from error

    def head(self) -> str | None:
        """Return the id of the commit at the tip of the ledger's branch; None before the first.

        Raises LedgerDamaged where the commit or a tree on the way to its decisions is not whole.
        """
        if not self.is_there:
            return None
        with translate_errors(self.path):
            return self.head_of(self.open())

    def head_of(self, repository: pygit2.Repository) -> str | None:
        """Return the id of the commit at the tip of the opened repository's branch, as `head` does."""
        tip = self.tip(repository)
        if tip is None:
            return None
        objects = self.objects(repository)
        folder = folder_at(objects, objects.commit(tip).tree, self.layout.folder)
        if folder is not None:
            objects.read(folder, ObjectType.TREE)
        return str(tip)

    def tip(self, repository: pygit2.Repository) -> pygit2.Oid | None:
        """Return the head of the opened repository's branch, unread and unverified."""
        return tip_of(repository, branch_of(repository, self.path))

    def objects(self, repository: pygit2.Repository | None = None) -> Objects:
        """Read verified objects of the opened repository (None: it is opened)."""
        remedy = _REMEDY_OWN if self.is_managed else _REMEDY_SHARED
        return Objects(repository or self.open(), self.path, remedy)

    @property
    def is_there(self) -> bool:
        """Whether there is something to open: a ledger of our own is made by its first act."""
        return not self.is_managed or self.path.exists()

    def _make(self) -> None:
        # Made aside and renamed: it is there whole or not at all, even if others make it too.
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with scratch_folder(self.path) as draft:
            repository = pygit2.init_repository(str(draft), bare=True, initial_head=_OWN_BRANCH)
            repository.free()
            if self._durability == "full":
                sync_tree(draft)
            try:
                draft.rename(self.path)
            except OSError:
                # Another was faster: a folder that is not empty is never replaced.
                if not self.path.exists():
                    raise
        if self._durability == "full":
            sync_folder(self.path.parent)


def branch_of(repository: pygit2.Repository, path: Path) -> str:
    """Return the branch that is checked out. Raises LedgerError if the head is detached."""
    head = repository.lookup_reference("HEAD")
    if not isinstance(head.target, str):
        reason = "{path}: its head is detached, so a commit would belong to no branch"
        raise LedgerError(reason, "run `git switch BRANCH` there, then try again", path=path)
    return head.target


def tip_of(repository: pygit2.Repository, branch: str) -> pygit2.Oid | None:
    """Return the head of a branch, or None before its first commit."""
    try:
        target = repository.lookup_reference(branch).target
    except KeyError:
        return None
    assert isinstance(target, pygit2.Oid)
    return target
