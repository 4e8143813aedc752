"""A ledger in Git: one commit an act, made by compare-and-swap of the branch, and read back."""

import logging
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

import pygit2
from pygit2.enums import RepositoryState

from minutebook.domain.errors import Conflict, LedgerBroken, LedgerBusy, LedgerError
from minutebook.domain.lineage import violations_between
from minutebook.domain.records import Authorship, Decision
from minutebook.ledger import markdown, pending
from minutebook.ledger.checkout import Checkout
from minutebook.ledger.faults import translated
from minutebook.ledger.trees import Layout, blob_at, stamped, with_files

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.005
_SUBJECT = 72
_OWN_BRANCH = "main"
_OURSELVES = ("Minutebook", "ledger@minutebook.invalid")

Alone = Callable[[], AbstractContextManager[bool]]
"""Keeps all other processes of ours from committing to a repository meanwhile.

Gives False where another had it for too long.
"""


Durability = Literal["full", "normal"]
"""`full`: an acknowledged act survives a power cut; `normal`: a killed process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What one commit says: who did what when, and the decisions as they are after it."""

    id: str
    what: str
    author: str
    authorship: Authorship
    at: datetime
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that is the branch's head, and its act's decisions stamped with it."""

    id: str
    decisions: tuple[Decision, ...]


Decide = Callable[[str | None], Act]
"""Looks at the ledger as of a commit (None: nothing yet) and says what is done, or raises."""


class Repository:
    """Every act is a commit; any number of processes and people may commit at once."""

    def __init__(
        self,
        path: Path,
        layout: Layout,
        alone: Alone,
        *,
        is_own: bool,
        durability: Durability,
        wait: float = 10.0,
    ) -> None:
        self._path = path
        self._alone = alone
        self._is_own = is_own
        self._durability = durability
        self._wait = wait
        self.layout = layout

    @classmethod
    def own(
        cls, path: Path, organization: str, alone: Alone, durability: Durability = "full"
    ) -> "Repository":
        """Keep a ledger in a repository of its own, without a work tree, made by the first act."""
        layout = Layout(organization, "", shards=True)
        return cls(path, layout, alone, is_own=True, durability=durability)

    @classmethod
    def shared(
        cls,
        path: Path,
        folder: str,
        organization: str,
        alone: Alone,
        durability: Durability = "full",
    ) -> "Repository":
        """Keep a ledger in a folder of a person's repository, on the branch that is checked out."""
        layout = Layout(organization, folder.strip("/"), shards=False)
        return cls(path, layout, alone, is_own=False, durability=durability)

    @property
    def path(self) -> Path:
        """Where the repository lies."""
        return self._path

    def open(self) -> pygit2.Repository:
        """Open the repository; LedgerError where there is none, or it cannot be read."""
        with translated(self._path):
            # Of the whole process, as the setting behind it is.
            pygit2.settings.enable_fsync_gitdir(self._durability == "full")
            if self._is_own and not self._path.exists():
                self._make()
            try:
                return pygit2.Repository(str(self._path))
            except pygit2.GitError as error:
                if self._is_own or "not owned" in str(error):
                    raise
                raise LedgerError(
                    f"{self._path} is no Git repository", "run `git init` there, or name another"
                ) from error

    def head(self) -> str | None:
        """Name the commit that the ledger's branch ends with; None before the first."""
        if self._is_own and not self._path.exists():
            return None
        with translated(self._path):
            repository = self.open()
            tip = _tip(repository, _branch(repository, self._path))
            return None if tip is None else str(tip)

    def perform(self, decide: Decide) -> Committed:
        """Commit what `decide` says; it is asked again each time another commit came between.

        What it raises goes through, and nothing is changed. Raises LedgerError; LedgerBusy after
        the wait.
        """
        deadline = time.monotonic() + self._wait
        with self._alone() as mine:
            if not mine:
                raise LedgerBusy(f"{self._path}: another process keeps writing", "try again")
            repository = self.open()
            control = Path(repository.path)
            self._heal(repository, control)
            while True:
                with translated(self._path):
                    self._check_calm(repository)
                    branch = _branch(repository, self._path)
                    tip = _tip(repository, branch)
                act = decide(None if tip is None else str(tip))
                try:
                    with translated(self._path):
                        commit = self._commit(repository, branch, tip, act, deadline)
                except _Moved:
                    if time.monotonic() > deadline:
                        reason = f"{self._path}: others commit faster than this process"
                        raise LedgerBusy(reason, "try again") from None
                    continue
                return Committed(str(commit), tuple(stamped(d, commit) for d in act.decisions))

    def heal(self) -> None:
        """Bring to its end what a kill cut short; to be called at start."""
        with self._alone() as mine:
            if mine and (self._path.exists() or not self._is_own):
                repository = self.open()
                self._heal(repository, Path(repository.path))

    def _make(self) -> None:
        # Made aside and renamed, so that it is there whole or not at all, whoever else makes it too.
        draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        try:
            draft.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            made = pygit2.init_repository(str(draft), bare=True, initial_head=_OWN_BRANCH)
            made.free()
            try:
                draft.rename(self._path)
            except OSError:
                # Another was faster: a folder that is not empty is never replaced.
                if not self._path.exists():
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _check_calm(self, repository: pygit2.Repository) -> None:
        state = RepositoryState(repository.state())
        if state is not RepositoryState.NONE:
            what = state.name.lower().replace("_", " ")
            raise LedgerError(
                f"{self._path} is in the middle of a {what}", "finish or abort it, then try again"
            )

    def _checkout(self, repository: pygit2.Repository) -> Checkout | None:
        if self._is_own or repository.workdir is None:
            return None
        return Checkout(repository, Path(repository.workdir), Path(repository.path))

    def _commit(
        self,
        repository: pygit2.Repository,
        branch: str,
        tip: pygit2.Oid | None,
        act: Act,
        deadline: float,
    ) -> pygit2.Oid:
        tree = None if tip is None else commit_at(repository, tip).tree
        files = self._files(repository, tree, act)
        author = _signature(act.author, f"{act.authorship}@minutebook.invalid", act.at)
        commit = repository.create_commit(
            None,
            author,
            self._committer(repository, act.at),
            _message(act),
            with_files(repository, tree, files),
            [] if tip is None else [tip],
        )
        control = Path(repository.path)
        checkout = self._checkout(repository)
        names = {path: str(blob) for path, blob in files.items()}
        mark = pending.Pending(commit=str(commit), branch=branch, files=names).put(control)
        try:
            if checkout is not None:
                checkout.prepare(mark, files, deadline)
            self._swap(repository, branch, tip, commit, deadline)
        except BaseException:
            if checkout is not None:
                checkout.abandon(mark, files)
            pending.settle(control)
            raise
        if checkout is not None:
            try:
                checkout.finish(mark, files)
            except OSError as error:
                # It is on the record; what is pending is done by the next act, or at start.
                log.warning("%s: the work tree is behind the ledger: %s", self._path, error)
                return commit
        pending.settle(control)
        return commit

    def _files(
        self, repository: pygit2.Repository, tree: pygit2.Tree | None, act: Act
    ) -> Mapping[str, pygit2.Oid]:
        files = {}
        for decision in act.decisions:
            data = markdown.written(decision)
            path = self.layout.path(decision)
            earlier = blob_at(tree, path)
            if earlier is not None:
                _check_follows(self.layout.read(path, earlier.data), decision)
            files[path] = repository.create_blob(data)
        return files

    def _committer(self, repository: pygit2.Repository, at: datetime) -> pygit2.Signature:
        if self._is_own:
            return _signature(*_OURSELVES, at)
        try:
            configured = repository.default_signature
        except (KeyError, pygit2.GitError) as error:
            raise LedgerError(
                f"{self._path}: Git does not know in whose name to commit",
                "run `git config user.name NAME` and `git config user.email ADDRESS` there",
            ) from error
        return _signature(configured.name, configured.email, at)

    def _swap(
        self,
        repository: pygit2.Repository,
        branch: str,
        tip: pygit2.Oid | None,
        commit: pygit2.Oid,
        deadline: float,
    ) -> None:
        """Lead the branch from one commit to another; _Moved where it is elsewhere already."""
        while True:
            try:
                if tip is None:
                    repository.create_reference_direct(branch, commit, force=False)
                    return
                reference = repository.lookup_reference(branch)
                # Git compares what was looked up here with what is there once it has the lock.
                if reference.target == tip:
                    reference.set_target(commit)
                    return
            except (pygit2.GitError, OSError) as error:
                if _tip(repository, branch) != tip:
                    raise _Moved from error
                lock = _lock_of(repository, branch)
                if not lock.exists() and "lock" not in str(error):
                    raise
                if time.monotonic() > deadline:
                    raise LedgerBusy(
                        f"{self._path}: another Git command holds the branch ({lock})",
                        "wait for it to end; if none is running, remove that file",
                    ) from error
            if _tip(repository, branch) != tip:
                raise _Moved
            time.sleep(_POLL_SECONDS)

    def _heal(self, repository: pygit2.Repository, control: Path) -> None:
        with translated(self._path):
            left = pending.left_in(control)
            if left is None:
                # A kill may have come while what is pending was written.
                pending.settle(control)
                return
            tip = _tip(repository, left.branch)
            commit = pygit2.Oid(hex=left.commit)
            landed = tip is not None and commit in repository and _holds(repository, tip, commit)
            checkout = self._checkout(repository)
            if checkout is not None:
                mark = control / pending.NAME
                if landed:
                    checkout.finish(mark, left.files)
                else:
                    checkout.abandon(mark, left.files)
            self._drop_lock(_lock_of(repository, left.branch))
            pending.settle(control)

    def _drop_lock(self, lock: Path) -> None:
        """Remove the branch's lock that a killed commit of ours left, and nobody touches."""
        try:
            seen = lock.stat()
        except FileNotFoundError:
            return
        # Git holds such a lock for a moment only; this one may be another command's.
        end = time.monotonic() + min(1.0, self._wait)
        while time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            try:
                now = lock.stat()
            except FileNotFoundError:
                return
            if (now.st_ino, now.st_mtime_ns, now.st_size) != (
                seen.st_ino,
                seen.st_mtime_ns,
                seen.st_size,
            ):
                return
        lock.unlink(missing_ok=True)


class _Moved(Exception):
    """The branch is not where the commit was made for."""


def _branch(repository: pygit2.Repository, path: Path) -> str:
    head = repository.lookup_reference("HEAD")
    if not isinstance(head.target, str):
        raise LedgerError(
            f"{path}: its head is detached, so a commit would belong to no branch",
            "run `git switch BRANCH` there, then try again",
        )
    return head.target


def _tip(repository: pygit2.Repository, branch: str) -> pygit2.Oid | None:
    try:
        target = repository.lookup_reference(branch).target
    except KeyError:
        return None
    assert isinstance(target, pygit2.Oid)
    return target


def commit_at(repository: pygit2.Repository, id: pygit2.Oid) -> pygit2.Commit:
    """Give a commit that is there."""
    return cast("pygit2.Commit", repository[id])


def _holds(repository: pygit2.Repository, tip: pygit2.Oid, commit: pygit2.Oid) -> bool:
    return tip == commit or repository.descendant_of(tip, commit)


def _lock_of(repository: pygit2.Repository, branch: str) -> Path:
    """Name the file by which Git locks a branch; work trees of one repository share it."""
    control = Path(repository.path)
    with suppress(FileNotFoundError):
        control = control / (control / "commondir").read_text(encoding="utf-8").strip()
    return control / f"{branch}.lock"


def _check_follows(earlier: object, decision: Decision) -> None:
    if not isinstance(earlier, Decision):
        raise LedgerBroken(str(earlier), "mend the file, and commit that", (decision.id,))
    if earlier.id != decision.id:
        raise Conflict(decision.id, f"its file would have the name of {earlier.id}'s; try again")
    if wrong := violations_between(earlier, decision):
        raise LedgerBroken(wrong[0].reason, "look at the ledger as it is now", wrong[0].ids)


def _signature(name: str, address: str, at: datetime) -> pygit2.Signature:
    plain = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", name).split()).strip(".,:;\"'\\ ")
    return pygit2.Signature(plain or "unknown", address, int(at.timestamp()), 0)


def _message(act: Act) -> str:
    what = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", act.what).split())
    subject = what if len(what) <= _SUBJECT else f"{what[: _SUBJECT - 1].rstrip()}…"
    trailers = [f"Act: {act.id}", *(f"Decision: {each.id}" for each in act.decisions)]
    return "\n".join([subject, "", *trailers, ""])
