"""Commits to a ledger: one an act, made by compare-and-swap of the branch."""

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import pygit2
from pygit2.enums import ObjectType, RepositoryState

from minutebook.features.ledger.git import markdown, write_intent
from minutebook.features.ledger.git.checkout import Checkout
from minutebook.features.ledger.git.errors import translate_errors
from minutebook.features.ledger.git.objects import Objects, common_folder
from minutebook.features.ledger.git.proofs import proof_of
from minutebook.features.ledger.git.repository import CommitRight, Repository, branch_of, tip_of
from minutebook.features.ledger.git.trees import blob_at, with_commit_id, with_files
from minutebook.features.ledger.lineage import Violation, violations_between
from minutebook.record.errors import Conflict, LedgerBroken, LedgerBusy, LedgerError
from minutebook.record.origin import Origin, tidied
from minutebook.record.reason import Reason
from minutebook.record.records import Authorship, Decision
from minutebook.record.writing.decision_drafts import merge_decisions

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.005
_SUBJECT = 72
_OURSELVES = ("Minutebook", "ledger@minutebook.invalid")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAct:
    """The act of one commit: its author and time, and the decisions as they are after it.

    `summary` becomes the commit's subject. `by_owner`: the person at this machine acts under no other name,
    so in their own repository the author is the one that Git is configured for. `origin` is what the
    client told of itself, if known.
    """

    id: str
    summary: str
    author: str
    authorship: Authorship
    at: datetime
    decisions: tuple[Decision, ...]
    by_owner: bool = False
    origin: Origin | None = None
    key: bytes | None = None
    """With which the acting store proves that the commit is its own; None: it adds no proof."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that is the branch's head, and its act's decisions with its id."""

    id: str
    decisions: tuple[Decision, ...]


@contextmanager
def locked_writer(ledger: Repository) -> Iterator["Writer"]:
    """Hold the ledger's lock against our other processes; first recover an act that a kill cut short.

    It waits, so call it outside of any transaction. Raises LedgerBusy if another process keeps the
    ledger for too long, LedgerError if the ledger cannot be read or written.
    """
    with ledger.commit_lock() as right:
        if right is None:
            raise LedgerBusy("{path}: another process keeps writing", "try again", path=ledger.path)
        writer = Writer(ledger, right)
        writer.recover()
        yield writer


def recover(ledger: Repository) -> None:
    """Finish a commit that a kill cut short, unless another process is at work; call it at start."""
    with suppress(LedgerBusy), locked_writer(ledger):
        pass


class _OutcomeUnknown(Exception):
    """Git failed to move the branch, and it cannot be read whether it has moved."""


class Writer:
    """Commits to a ledger while its lock is held; people and their Git may commit all the same."""

    def __init__(self, ledger: Repository, right: CommitRight) -> None:
        self._ledger = ledger
        self._right = right
        self._path = ledger.path
        self._deadline = time.monotonic() + ledger.wait
        self._opened: pygit2.Repository | None = None
        self.head: str | None = None
        """The branch's last commit as `refresh_head` saw it."""

    def repeat(self, attempt: Callable[[], T]) -> T:
        """Refresh the head, then run an attempt that may `commit`; repeat both if it raises LedgerBusy.

        All waiting is done between two attempts, so that an attempt may be a transaction. Other
        errors of an attempt pass through. Raises LedgerBusy if the wait is over.
        """
        while True:
            self.refresh_head()
            try:
                return attempt()
            except LedgerBusy:
                if time.monotonic() > self._deadline:
                    raise
            time.sleep(_POLL_SECONDS)

    def refresh_head(self) -> str | None:
        """Wait until no other Git command holds a lock, then set `head` to the branch's last commit and return it."""
        if not self._ledger.is_there:
            self.head = None
            return None
        with translate_errors(self._path):
            repository = self._repository()
            _check_idle(repository, self._path)
            branch = branch_of(repository, self._path)
            while (busy := self._busy(repository, branch)) is not None:
                if time.monotonic() > self._deadline:
                    raise busy
                time.sleep(_POLL_SECONDS)
            tip = tip_of(repository, branch)
            self.head = None if tip is None else str(tip)
        return self.head

    def commit(self, act: LedgerAct) -> Committed:
        """Commit an act on top of `head`, without waiting.

        Raises LedgerBusy, with nothing changed, if the branch has moved or is locked, LedgerError
        if the ledger cannot be written, what `CommitRight.check` does if the right to commit was lost.
        """
        self._right.check()
        with translate_errors(self._path):
            repository = self._repository()
            branch = branch_of(repository, self._path)
            tip = None if self.head is None else pygit2.Oid(hex=self.head)
            commit = self._commit(repository, branch, tip, act)
        return Committed(
            str(commit), tuple(with_commit_id(decision, commit) for decision in act.decisions)
        )

    def recover(self) -> None:
        """Finish a commit that a kill cut short."""
        if not self._ledger.is_there:
            return
        with translate_errors(self._path):
            repository = self._repository()
            control = Path(repository.path)
            pending = write_intent.read(control)
            if pending is None:
                # A kill may have come while the file was written.
                write_intent.remove(control)
                return
            tip = tip_of(repository, pending.branch)
            commit = pygit2.Oid(hex=pending.commit)
            is_on_branch = (
                tip is not None
                and commit in repository
                and self._objects().history(commit, tip).reaches_first
            )
            checkout = self._checkout(repository)
            if checkout is not None:
                mark = control / write_intent.NAME
                if is_on_branch:
                    checkout.finish(mark, pending.files)
                else:
                    checkout.abandon(mark, pending.files)
            self._drop_lock(_lock_of(repository, pending.branch))
            write_intent.remove(control)

    def _repository(self) -> pygit2.Repository:
        if self._opened is None:
            self._opened = self._ledger.open()
        return self._opened

    def _objects(self) -> Objects:
        # New each time, so that objects packed meanwhile are found.
        return self._ledger.objects(self._repository())

    def _busy(self, repository: pygit2.Repository, branch: str) -> LedgerBusy | None:
        """Return the error for a lock that another Git command holds; None if there is none."""
        checkout = self._checkout(repository)
        if checkout is not None and checkout.lock.exists():
            return checkout.busy
        lock = _lock_of(repository, branch)
        return self._branch_locked(lock) if lock.exists() else None

    def _branch_locked(self, lock: Path) -> LedgerBusy:
        return LedgerBusy(
            "{path}: another Git command holds the branch ({lock})",
            "wait for it to end; if none is running, remove that file",
            path=self._path,
            lock=lock,
        )

    def _checkout(self, repository: pygit2.Repository) -> Checkout | None:
        if self._ledger.is_managed or repository.workdir is None:
            return None
        return Checkout(repository, Path(repository.workdir), Path(repository.path))

    def _commit(
        self, repository: pygit2.Repository, branch: str, tip: pygit2.Oid | None, act: LedgerAct
    ) -> pygit2.Oid:
        """Write files, tree and commit of an act, then move the branch and the work tree; return the commit."""
        objects = self._objects()
        tree = None if tip is None else objects.commit(tip).tree
        written = self._decisions_to_write(objects, tree, act)
        contents = {path: markdown.render(each) for path, each in written.items()}
        files = {path: repository.create_blob(data) for path, data in contents.items()}
        for blob in files.values():
            # If a damaged file of that name was there already, Git leaves it as it is.
            objects.blob(blob)
        top = with_files(repository, objects, tree, files)
        message = _message(act, self._ledger.layout.organization, written.values())
        commit = self._create_commit(repository, tip, top, act, message)
        objects.read(commit, ObjectType.COMMIT)
        control = Path(repository.path)
        checkout = self._checkout(repository)
        names = {path: str(blob) for path, blob in files.items()}
        pending = write_intent.PendingWrite(commit=str(commit), branch=branch, files=names)
        mark = pending.write(control)
        try:
            if checkout is not None:
                checkout.prepare(mark, {path: (files[path], contents[path]) for path in files})
            self._move_branch(repository, branch, tip, commit)
        except _OutcomeUnknown as error:
            # The pending write stays: the next act, or the next start, sees what became of it.
            raise LedgerError(
                "{path}: it cannot be told whether commit {commit} is in Git ({error})",
                "ask for the decision before you try again",
                path=self._path,
                commit=commit,
                error=error,
            ) from error
        except BaseException:
            if checkout is not None:
                checkout.abandon(mark, files)
            write_intent.remove(control)
            raise
        try:
            if checkout is not None:
                checkout.finish(mark, files)
            write_intent.remove(control)
        except OSError as error:
            # The decision is on the record; the next act, or the next start, does the rest.
            log.warning("%s: commit %s is not tidied up yet: %s", self._path, commit, error)
        return commit

    def _create_commit(
        self,
        repository: pygit2.Repository,
        tip: pygit2.Oid | None,
        tree: pygit2.Oid,
        act: LedgerAct,
        message: str,
    ) -> pygit2.Oid:
        """Create a commit that no branch names yet."""
        committer = self._committer(repository, act.at)
        if act.by_owner and not self._ledger.is_managed:
            author = committer
        else:
            author = _signature(act.author, f"{act.authorship}@minutebook.invalid", act.at)
        parents = [] if tip is None else [tip]
        return repository.create_commit(None, author, committer, message, tree, parents)

    def _decisions_to_write(
        self, objects: Objects, tree: pygit2.Oid | None, act: LedgerAct
    ) -> Mapping[str, Decision]:
        """Return the decisions that an act writes, by path, each merged with the one that the tree has there."""
        written = {}
        for decision in act.decisions:
            layout = self._ledger.layout
            markdown.check_can_be_written(decision)
            path = layout.path(decision)
            earlier = blob_at(objects, tree, path)
            if earlier is not None:
                decision = _merged(layout.read(path, earlier), decision)
            written[path] = decision
        return written

    def _committer(self, repository: pygit2.Repository, at: datetime) -> pygit2.Signature:
        if self._ledger.is_managed:
            return _signature(*_OURSELVES, at)
        try:
            configured = repository.default_signature
        except (KeyError, pygit2.GitError) as error:
            remedy = "run `git config user.name NAME` and `git config user.email ADDRESS` there"
            raise LedgerError(
                "{path}: Git does not know in whose name to commit", remedy, path=self._path
            ) from error
        return _signature(configured.name, configured.email, at)

    def _move_branch(
        self,
        repository: pygit2.Repository,
        branch: str,
        tip: pygit2.Oid | None,
        commit: pygit2.Oid,
    ) -> None:
        """Move the branch from `tip` to `commit`.

        Raises LedgerBusy if it has moved or is locked, _OutcomeUnknown if it may have been moved.
        """
        moved = LedgerBusy(
            "{path}: others commit faster than this process", "try again", path=self._path
        )
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
            present = _tip_after(error, repository, branch)
            if present == commit:
                # Git renames first and flushes the folder then: what failed came after the move.
                log.warning("%s: commit %s may not be on the disk: %s", self._path, commit, error)
                return
            if present != tip:
                raise moved from error
            lock = _lock_of(repository, branch)
            if not lock.exists() and "lock" not in str(error):
                raise
            raise self._branch_locked(lock) from error
        raise moved

    def _drop_lock(self, lock: Path) -> None:
        """Remove the branch's lock if it does not change for a second: a killed commit of ours left it."""
        try:
            seen = lock.stat()
        except FileNotFoundError:
            return
        # Another Git command may hold it, but only for a moment.
        end = time.monotonic() + min(1.0, self._ledger.wait)
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


def _tip_after(failure: Exception, repository: pygit2.Repository, branch: str) -> pygit2.Oid | None:
    """Return the branch's tip after Git failed to move it. Raises _OutcomeUnknown if it cannot be read."""
    try:
        return tip_of(repository, branch)
    except (pygit2.GitError, OSError, LedgerError) as error:
        raise _OutcomeUnknown(f"{failure}; {error}") from error


def _check_idle(repository: pygit2.Repository, path: Path) -> None:
    """Raise LedgerError if a repository is in the middle of a merge, a rebase or the like."""
    state = RepositoryState(repository.state())
    if state is not RepositoryState.NONE:
        what = state.name.lower().replace("_", " ")
        reason = "{path} is in the middle of a {what}"
        raise LedgerError(reason, "finish or abort it, then try again", path=path, what=what)


def _lock_of(repository: pygit2.Repository, branch: str) -> Path:
    """Return the file by which Git locks a branch; work trees of one repository share it."""
    return common_folder(repository) / f"{branch}.lock"


def _merged(earlier: Decision | Violation, decision: Decision) -> Decision:
    """Return a decision merged with the one in its file, which may have successors that the act does not know.

    Raises LedgerBroken if the file cannot be read or the change breaks a rule, Conflict if it holds another decision.
    """
    if isinstance(earlier, Violation):
        raise LedgerBroken(earlier.reason, Reason("mend the file, and commit that"), (decision.id,))
    if earlier.id != decision.id:
        raise Conflict(
            decision.id, "its file would have the name of {other}'s; try again", other=earlier.id
        )
    merged = merge_decisions(decision, earlier)
    broken = violations_between(earlier, merged)
    if broken:
        remedy = Reason("look at the ledger as it is now")
        raise LedgerBroken(broken[0].reason, remedy, broken[0].ids)
    return merged


def _signature(name: str, address: str, at: datetime) -> pygit2.Signature:
    plain = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", name).split()).strip(".,:;\"'\\ ")
    return pygit2.Signature(plain or "unknown", address, int(at.timestamp()), 0)


def _message(act: LedgerAct, organization: str, written: Iterable[Decision]) -> str:
    """Return the message of a commit: a line with the summary, then trailers for the act, its decisions and its origin."""
    subject = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", act.summary).split())
    if len(subject) > _SUBJECT:
        subject = f"{subject[: _SUBJECT - 1].rstrip()}…"
    trailers = [f"Act: {act.id}"]
    if act.key is not None:
        trailers.append(f"Proof: {proof_of(act.key, organization, act.id, written)}")
    trailers += [f"Decision: {decision.id}" for decision in act.decisions]
    if act.origin is not None:
        origin = {"Client": act.origin.program, "Session": act.origin.session}
        trailers += [f"{name}: {tidied(text)}" for name, text in origin.items() if tidied(text)]
    return "\n".join([subject, "", *trailers, ""])
