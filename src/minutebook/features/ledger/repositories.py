"""Each organization's ledger in Git, and the tables that follow it."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from minutebook.app import App
from minutebook.features.ledger.keys.trust import LedgerTrust
from minutebook.features.ledger.lineage import Violation, violations
from minutebook.features.ledger.locator import LedgerLocator
from minutebook.features.ledger.mirror.following import LedgerFollower
from minutebook.features.ledger.mirror.tables import DecisionTables, check_sound
from minutebook.features.ledger.places import ledger_folders, ledger_key_place_of
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.features.ledger.shared_folders import LedgerPlaces
from minutebook.memory.access.visibility import seen_by
from minutebook.memory.jobs import Job
from minutebook.record.caller import ANYBODY, Caller
from minutebook.record.errors import LedgerBroken, LedgerBusy, LedgerError, StoreError
from minutebook.record.filters import default_organization
from minutebook.record.ids import new_id
from minutebook.record.reason import Reason
from minutebook.record.records import Authorship, Decision
from minutebook.record.writing.decision_drafts import authorship_of

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.features.ledger.git.history import BranchChanges
    from minutebook.features.ledger.git.repository import Repository
    from minutebook.features.ledger.git.writer import LedgerAct, Writer

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LedgerState:
    """A ledger's place and the commit that the tables are at; `reason` says why it is read-only, None if it is not."""

    organization: str
    path: str
    commit_id: str | None
    reason: str | None = None
    remedy: str = ""
    ids: tuple[str, ...] = ()


class Ledgers:
    """Commits decisions and brings the tables to the state of Git.

    A commit is made inside the transaction that writes its decisions. The ledger's lock is taken
    before that transaction, so nothing waits inside it. A kill leaves neither of the two, or a commit
    that the tables lack; the next request adds that to the tables, like the commits of a `git pull`.
    """

    def __init__(self, app: App) -> None:
        infrastructure, settings = app.infrastructure, app.settings
        self._store, self._embeddings = infrastructure.store, app.embeddings
        folders = ledger_folders(settings)
        self._locator = LedgerLocator(folders, infrastructure.locks)
        shared = infrastructure.store.database.shared_values
        self._places = LedgerPlaces(shared, self._locator.local, folders.machine)
        self.tables = DecisionTables(
            infrastructure.store, app.trail, self._locator.mark_id, app.clock
        )
        self.trust = LedgerTrust(
            ledger_key_place_of(app),
            infrastructure.locks,
            app.clock,
            trusts_everyone=settings.of(LedgerSettings).ledger_trust == "everyone",
        )
        self.following = LedgerFollower(self.tables, self.trust, app.clock, self._locator.user)
        self._reconsidered: set[str] = set()
        self._clock, self._randbits = app.clock, infrastructure.randbits
        self._broken: dict[str, LedgerError] = {}

    @contextmanager
    def locked(self, organization: str) -> Iterator["LockedLedger"]:
        """Lock a ledger against commits by other processes; call it outside of any transaction.

        Raises LedgerBusy if another process keeps the ledger for too long, LedgerError if Git
        fails or the ledger is not on this server.
        """
        from minutebook.features.ledger.git.writer import locked_writer

        self._places.check(organization)
        self.trust.ensure_key()
        with locked_writer(self.repository(organization)) as writer:
            yield LockedLedger(self, organization, writer, self._places.claim)

    @contextmanager
    def locked_to_adopt(self, organization: str) -> Iterator["LockedLedger"]:
        """Do as `locked` does, and make the repository of this server the ledger, wherever it was before."""
        from minutebook.features.ledger.git.writer import locked_writer

        self.trust.ensure_key()
        with locked_writer(self.repository(organization)) as writer:
            yield LockedLedger(self, organization, writer, self._places.adopt)

    def sync(self, organization: str) -> None:
        """Bring the tables to the head of a ledger, reading Git before the transaction.

        Raises LedgerBroken if the ledger contradicts itself, LedgerError if it cannot be read or is
        not on this server.
        """
        while True:
            # The mark first: a process that decides moves the head before the mark.
            mark = self.tables.mark(organization)
            head = self._head(organization)
            since = None if mark is None else mark.commit_id
            if head == since:
                if self.trust.trusts_everyone and organization not in self._reconsidered:
                    self._accept_all_waiting(organization)
                return
            self._places.check(organization)
            changes = self._changes_in_git(organization, since, head)
            with self._store.transaction(organization):
                # Others may have followed it meanwhile, and decided.
                if self.tables.mark(organization) == mark:
                    self._apply_commits(organization, changes)
                    return

    def sync_visible(self, caller: Caller) -> None:
        """Sync the ledgers that the caller may see; a broken one stays as it was."""
        self._sync_all(self._visible_to(caller))

    def recover(self) -> None:
        """Finish commits that a kill cut short, then sync every ledger; a broken one stays as it was.

        If servers share the store, this also claims the ledgers of this server that none has claimed.
        """
        for organization in self._organizations():
            if self._locator.exists(organization):
                from minutebook.features.ledger.git.writer import recover

                try:
                    recover(self.repository(organization))
                except LedgerError as error:
                    self._set_broken(organization, error)
        self._sync_all(self._organizations())
        for organization in self._organizations():
            if organization not in self._broken and self._places.is_unclaimed(organization):
                self._claim(organization)

    def states(self, caller: Caller | None = None) -> list[LedgerState]:
        """Return the state of each ledger that the caller may see; for None, of every ledger."""
        names = self._organizations() if caller is None else self._visible_to(caller)
        self._sync_all(names)
        for name in names:
            self._check_place(name)
        return [self._state(name) for name in names if self._is_used(name)]

    def check(self) -> list[Violation]:
        """Find everything that does not hold among the decisions in the tables."""
        found: list[Violation] = []
        for organization in self._organizations():
            found += violations(self.tables.decisions_of(organization).values())
        return found

    def damage(self) -> list[LedgerError]:
        """Find every damaged Git object of each ledger, back to its first commit."""
        from minutebook.features.ledger.git.history import damage_in

        found: list[LedgerError] = []
        for organization in self._organizations():
            if self._locator.exists(organization):
                # What else keeps it from being read is in its state.
                with suppress(LedgerError):
                    found += damage_in(self.repository(organization))
        return found

    # Changes in Git

    def _changes_in_git(
        self, organization: str, since: str | None, head: str | None
    ) -> "BranchChanges":
        """Return the changes after the commit `since`, up to `head`.

        Raises LedgerError if Git cannot be read, LedgerBroken if the ledger has no commits any
        more.
        """
        if head is None:
            raise LedgerBroken(
                Reason(
                    "{path}: the ledger has no commits any more",
                    path=self._locator.path(organization),
                ),
                Reason(
                    "bring the repository back, or write it anew by `minutebook ledger rebuild`"
                ),
                (),
            )
        from minutebook.features.ledger.git.history import changes_since

        changes = changes_since(self.repository(organization), since, head, self.trust.key())
        check_sound(changes.violations)
        return changes

    def _apply_commits(self, organization: str, changes: "BranchChanges") -> None:
        """Put the changes in Git into the tables, with the commit up to which they were read; call inside a transaction.

        Raises LedgerBroken if the ledger would not be sound.
        """
        self.following.take_in(self.repository(organization), changes)
        if changes.head is not None:
            self.tables.put_mark(organization, changes.head)
        self._embeddings.notify()

    def _accept_all_waiting(self, organization: str) -> None:
        """Accept the decisions that waited before `ledger_trust` was set to everyone; once in a process."""
        if self.tables.waiting(organization):
            with self._store.transaction(organization):
                self.following.accept_all_waiting(self.repository(organization))
            self._embeddings.notify()
        self._reconsidered.add(organization)

    def history(self, organization: str, head: str) -> "BranchChanges":
        """Return all changes from a ledger's first commit up to `head`. Raises LedgerError if it cannot be read."""
        from minutebook.features.ledger.git.history import changes_since

        return changes_since(self.repository(organization), None, head, self.trust.key())

    # Where and how far

    def repository(self, organization: str) -> "Repository":
        """Return the ledger of an organization, without creating or opening anything."""
        return self._locator.repository(organization)

    def path(self, organization: str) -> str:
        """Return the path where an organization's ledger is, or will be."""
        return self._locator.path(organization)

    def forget_fault(self, organization: str) -> None:
        """Note that nothing is wrong any more with an organization's ledger."""
        self._broken.pop(organization, None)

    def _is_used(self, organization: str) -> bool:
        return self._locator.exists(organization) or self.tables.mark(organization) is not None

    def _head(self, organization: str) -> str | None:
        return self.repository(organization).head() if self._locator.exists(organization) else None

    def _organizations(self) -> list[str]:
        return sorted({*self._store.organizations(), self._locator.home})

    def _visible_to(self, caller: Caller) -> list[str]:
        seen = seen_by(self._store, caller).organizations
        return sorted({*seen, default_organization(caller)})

    def _sync_all(self, organizations: Iterable[str]) -> None:
        """Synchronise the ledgers that are in use, and note for each whether it is broken."""
        for organization in organizations:
            if not self._is_used(organization):
                continue
            try:
                self.sync(organization)
            except LedgerError as error:
                self._set_broken(organization, error)
            else:
                self.forget_fault(organization)

    def _claim(self, organization: str) -> None:
        """Record in the store that this server has a ledger that no server has claimed yet."""
        mark = self.tables.commit_id(organization)
        if mark is not None and self._head(organization) == mark:
            try:
                with self._store.transaction(organization):
                    self._places.claim(organization)
            except LedgerError as error:
                self._set_broken(organization, error)

    def _check_place(self, organization: str) -> None:
        """Mark a ledger as broken if the store says that it is on another server; a copy here is another ledger."""
        if organization not in self._broken and self._is_used(organization):
            try:
                self._places.check(organization)
            except LedgerError as error:
                self._set_broken(organization, error)

    def _set_broken(self, organization: str, error: LedgerError) -> None:
        """Note that a ledger is broken, and warn unless it was for the same reason before."""
        known = self._broken.get(organization)
        self._broken[organization] = error
        if known is None or known.reason != error.reason:
            log.warning("the ledger of %s is read-only: %s", organization, error.reason)

    def _state(self, organization: str) -> LedgerState:
        commit, error = self.tables.commit_id(organization), self._broken.get(organization)
        path = self._locator.path(organization)
        if error is None:
            return LedgerState(organization, path, commit)
        ids = error.ids if isinstance(error, LedgerBroken) else ()
        return LedgerState(organization, path, commit, error.reason, error.remedy, ids)

    def act(self, summary: str, caller: Caller, decisions: Sequence[Decision]) -> "LedgerAct":
        """Return the act by which a caller commits decisions now; `summary` is the commit's subject."""
        from minutebook.features.ledger.git.writer import LedgerAct

        now, authorship, author = self._clock(), authorship_of(caller), caller.name
        owner = (ANYBODY, self._locator.user)
        by_owner = authorship is Authorship.HUMAN and not caller.token and author in owner
        if by_owner:
            author = self._locator.user
        elif author == ANYBODY and caller.call.origin is not None:
            author = caller.call.origin.client or author
        return LedgerAct(
            id=new_id(now, self._randbits),
            summary=summary,
            author=author,
            authorship=authorship,
            at=now,
            decisions=tuple(decisions),
            by_owner=by_owner,
            origin=caller.call.origin,
            key=self.trust.ensure_key(),
        )


class LockedLedger:
    """A ledger with its lock held by this process: no other process of ours commits to it."""

    def __init__(
        self,
        ledgers: Ledgers,
        organization: str,
        writer: "Writer",
        note_place: Callable[[str], None],
    ) -> None:
        self._ledgers = ledgers
        self._organization = organization
        self._writer = writer
        self._note_place = note_place

    def repeat(self, attempt: Callable[[], T]) -> T:
        """Bring the tables to Git's head, then run a transaction; repeat both if the branch has moved since."""

        def synced_attempt() -> T:
            self._ledgers.sync(self._organization)
            return attempt()

        return self._writer.repeat(synced_attempt)

    def note_place(self) -> None:
        """Record in the store that this server has the ledger; call inside a transaction.

        Raises LedgerError if another server has it.
        """
        self._note_place(self._organization)

    def refresh_head(self) -> str | None:
        """Return the head of the ledger's branch. Raises LedgerError if Git cannot be read."""
        return self._writer.refresh_head()

    def commit(
        self, summary: str, caller: Caller, plan: Callable[[], Sequence[Decision]]
    ) -> tuple[Decision, ...]:
        """Commit the decisions that `plan` returns; call inside the transaction that puts them.

        Calls `plan` when the tables are at the ledger's head; returns the decisions with their
        commit. Raises what `plan` raises, LedgerError, LedgerBusy if the ledger has moved on since
        the writer looked at it.
        """
        if self._writer.head != self._ledgers.tables.commit_id(self._organization):
            raise LedgerBusy("others decide faster than this process", "try again")
        return self.write(summary, caller, plan())

    def write(
        self, summary: str, caller: Caller, decisions: Sequence[Decision]
    ) -> tuple[Decision, ...]:
        """Commit decisions, whatever commit the tables are at, and move the mark; return them with their commit.

        Raises LedgerError if Git fails, the store fails after the commit, or the ledger is not on this server,
        StoreBusy if another server holds the lock by now, Conflict if the file of a decision holds another.
        """
        self.note_place()
        committed = self._writer.commit(self._ledgers.act(summary, caller, decisions))
        try:
            self._ledgers.tables.put_mark(self._organization, committed.id)
        except StoreError as error:
            raise after_commit(committed.decisions[0], error) from error
        return committed.decisions


def after_commit(made: Decision, error: StoreError) -> LedgerError:
    """Return the error to raise if the store fails after a decision was committed to Git."""
    return LedgerError(
        "{id} is in Git (commit {commit}), but the store failed: {cause}",
        "mend the store; the commit is taken in at the next start or question",
        id=made.id,
        commit=made.commit_id,
        cause=error.reason,
    )


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that ends, once, the unfinished work of an earlier process in the ledgers."""
    ledgers = app.get(Ledgers)
    failing = "cannot go on with what was left half done"
    yield Job("ledgers", lambda caller: ledgers.recover(), failing, every=None)
