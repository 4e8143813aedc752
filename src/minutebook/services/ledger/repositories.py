"""Each organization's ledger in Git, and the tables that follow it."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from minutebook.domain.caller import ANYBODY, Caller
from minutebook.domain.decision_drafts import close_proposal, fixed_differences, merge_decisions
from minutebook.domain.errors import Conflict, Forbidden, LedgerBroken, LedgerBusy, LedgerError
from minutebook.domain.filters import Filter, default_organization
from minutebook.domain.ids import RandomBits, new_id
from minutebook.domain.lineage import (
    Rule,
    TargetKey,
    Violation,
    authorship_of,
    scoped_target,
    violations,
    violations_near,
)
from minutebook.domain.policy import Scope
from minutebook.domain.records import (
    Authorship,
    Decision,
    DecisionStatus,
    Kind,
    LedgerMark,
    Proposal,
    ProposalStatus,
    Role,
)
from minutebook.services.access.audit import Trail
from minutebook.services.access.visibility import Clock, filters
from minutebook.services.embeddings import Embeddings
from minutebook.services.ledger.locator import LedgerFolders, LedgerLocator
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Store

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.ledger.history import News
    from minutebook.ledger.repository import Repository
    from minutebook.ledger.writer import Act, Writer

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LedgerState:
    """Where a ledger is and how far it was followed; read-only for a `reason`, None if it is not."""

    organization: str
    path: str
    commit_id: str | None
    reason: str | None = None
    remedy: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild found and brought over.

    `to_tables` are the decisions that Git had otherwise, `to_git` those that the tables had.
    `conflicts` are targets on which several are active, `notes` what earlier commits did that none
    may do, and that has no effect any more.
    """

    organization: str
    path: str
    decisions: int
    to_tables: tuple[str, ...]
    to_git: tuple[str, ...]
    conflicts: tuple[Violation, ...]
    notes: tuple[Violation, ...]


class Ledgers:
    """Commits decisions and brings the tables to what Git says.

    A commit is made inside the transaction that keeps its decisions, by who holds the ledger's lock
    from before it: inside, nothing waits. So a kill leaves either neither, or a commit that the tables
    lack; the next request takes that in, as it takes in the commits of a `git pull`.
    """

    def __init__(
        self,
        store: Store,
        trail: Trail,
        embeddings: Embeddings,
        locks: NamedLocks,
        folders: LedgerFolders,
        clock: Clock,
        randbits: RandomBits,
    ) -> None:
        self._store = store
        self._trail = trail
        self._embeddings = embeddings
        self._locator = LedgerLocator(folders, locks)
        self._clock = clock
        self._randbits = randbits
        self._broken: dict[str, LedgerError] = {}

    @contextmanager
    def deciding(self, organization: str) -> Iterator["Deciding"]:
        """Keep other processes from committing to a ledger; call it outside of any transaction.

        Raises LedgerBusy if another process keeps the ledger for too long, LedgerError if Git
        fails.
        """
        from minutebook.ledger.writer import writing

        with writing(self.repository(organization)) as writer:
            yield Deciding(self, organization, writer)

    def commit(
        self,
        organization: str,
        writer: "Writer",
        what: str,
        caller: Caller,
        plan: Callable[[], Sequence[Decision]],
    ) -> tuple[Decision, ...]:
        """Commit what `plan` returns; call inside the transaction that puts it.

        Calls `plan` when the tables are at the ledger's head; returns the decisions with their
        commit. Raises what `plan` raises, LedgerError, LedgerBusy if the ledger has moved on since
        the writer looked at it.
        """
        mark = self._mark(organization)
        if writer.head != (None if mark is None else mark.commit_id):
            raise LedgerBusy("others decide faster than this process", "try again")
        committed = writer.commit(self._act(what, caller, plan()))
        self._put_mark(organization, committed.id)
        return committed.decisions

    def sync(self, organization: str) -> None:
        """Bring the tables to the head of a ledger, reading Git before the transaction.

        Raises LedgerBroken if the ledger contradicts itself, LedgerError if it cannot be read.
        """
        while True:
            # The mark first: a process that decides moves the head before the mark.
            mark = self._mark(organization)
            head = self._head(organization)
            since = None if mark is None else mark.commit_id
            if head == since:
                return
            brought = self._brought(organization, since, head)
            with self._store.transaction(organization):
                # Others may have followed it meanwhile, and decided.
                if self._mark(organization) == mark:
                    self._apply_commits(organization, brought)
                    return

    def sync_visible(self, caller: Caller) -> None:
        """Sync the ledgers that the caller may see; a broken one stays as it was."""
        open_to = {where.organization for where in filters(self._store, caller)}
        self._sync_all(sorted(open_to | {default_organization(caller)}))

    def recover(self) -> None:
        """Finish commits that a kill cut short, then sync every ledger; a broken one stays as it was."""
        for organization in self._organizations():
            if self._locator.exists(organization):
                from minutebook.ledger.writer import recover

                try:
                    recover(self.repository(organization))
                except LedgerError as error:
                    self._set_broken(organization, error)
        self._sync_all(self._organizations())

    def states(self, caller: Caller | None = None) -> list[LedgerState]:
        """Tell how each ledger stands that the caller (None: anybody) may hear."""
        if caller is None:
            names = self._organizations()
        else:
            open_to = {where.organization for where in filters(self._store, caller)}
            names = sorted(open_to | {default_organization(caller)})
        self._sync_all(names)
        return [self._state(name) for name in names if self._is_used(name)]

    def check(self) -> list[Violation]:
        """Find everything that does not hold among the decisions in the tables."""
        found: list[Violation] = []
        for organization in self._organizations():
            found += violations(self._kept(organization).values())
        return found

    def damage(self) -> list[LedgerError]:
        """Find every damaged Git object of each ledger, back to its first commit."""
        from minutebook.ledger.history import damage_in

        found: list[LedgerError] = []
        for organization in self._organizations():
            if self._locator.exists(organization):
                # What else keeps it from being read is in its state.
                with suppress(LedgerError):
                    found += damage_in(self.repository(organization))
        return found

    def rebuild(self, caller: Caller) -> Rebuilt:
        """Make Git and the tables of the caller's organization agree: what one lacks, it is given.

        Of two readings of one decision the later holds. Refused, and nothing changed, where they
        contradict each other or what came of it would not be sound: LedgerBroken. Forbidden to
        agents. LedgerBusy where another commit comes meanwhile.
        """
        organization = default_organization(caller)
        self._check_may_rebuild(caller, organization)
        with self.rebuilding([organization]) as ledgers:
            return ledgers[organization].run(caller)

    @contextmanager
    def rebuilding(self, organizations: Iterable[str]) -> Iterator[dict[str, "Rebuilding"]]:
        """Keep ledgers to oneself and read them, so that a transaction may rebuild them.

        One that cannot be had or read raises its LedgerError when it is run.
        """
        with ExitStack() as stack:
            ready = {}
            for organization in sorted(set(organizations)):
                try:
                    deciding = stack.enter_context(self.deciding(organization))
                    ready[organization] = Rebuilding(self, organization, deciding.read())
                except LedgerError as error:
                    ready[organization] = Rebuilding(self, organization, error)
            yield ready

    def rebuild_from(self, caller: Caller, organization: str, git: "GitSide") -> Rebuilt:
        """Rebuild from what was read of Git, in one transaction, as `rebuild` does."""
        self._check_may_rebuild(caller, organization)
        path = self._locator.path(organization)
        with self._trail.audited(caller, organization, "rebuild", Kind.LEDGER, path) as audit:
            audit.check(Scope(organization))
            rebuilt = self._rebuild(caller, organization, path, git)
        self._broken.pop(organization, None)
        self._embeddings.notify()
        return rebuilt

    def _check_may_rebuild(self, caller: Caller, organization: str) -> None:
        path = self._locator.path(organization)
        with self._trail.audit_refusals(caller, organization, "rebuild", Kind.LEDGER, path):
            if authorship_of(caller) is Authorship.AGENT:
                reason = f"the role {caller.role} may not rebuild a ledger; a person may"
                raise Forbidden("rebuild", reason, needs=Role.HUMAN)

    def find(self, organization: str, id: str) -> Decision | None:
        """Return the decision with an id, or None."""
        return self._store.get(Decision, organization, id)

    def active_on(self, key: TargetKey) -> list[Decision]:
        """Return the active decisions on a target."""
        here = Filter(
            organization=key.organization,
            equal={
                "target_key": key.target_key,
                "status": DecisionStatus.ACTIVE,
                "repository": key.repository,
                "user": key.user,
            },
        )
        return self._store.find(Decision, here)

    def spelled(self, decision: Decision) -> Decision:
        """Return a decision with its target as the first decision on it spells it."""
        key = scoped_target(decision)
        same = {"repository": key.repository, "user": key.user, "target_key": key.target_key}
        here = Filter(organization=key.organization, equal=same)
        found = self._store.find(Decision, here, order=["created_at"], limit=1)
        return replace(decision, target=found[0].target) if found else decision

    # What Git brought

    def _brought(self, organization: str, since: str | None, head: str | None) -> "News":
        """Return what came after a commit, up to another.

        Raises LedgerError if Git cannot be read, LedgerBroken if the ledger has no commits any
        more.
        """
        if head is None:
            raise LedgerBroken(
                f"{self._locator.path(organization)}: the ledger has no commits any more",
                "bring the repository back, or write it anew by `minutebook ledger rebuild`",
                (),
            )
        from minutebook.ledger.history import news

        brought = news(self.repository(organization), since, head)
        _check_sound(brought.violations)
        return brought

    def _apply_commits(self, organization: str, brought: "News") -> None:
        """Keep what Git brought, if the whole is sound; call inside a transaction."""
        self._keep(organization, brought.decisions)
        find = partial(self.find, organization)
        violations = violations_near([each.id for each in brought.decisions], find, self.active_on)
        _check_sound(_without_conflicts(violations))
        if brought.head is not None:
            self._put_mark(organization, brought.head)
        self._embeddings.notify()

    def _keep(self, organization: str, brought: Iterable[Decision]) -> list[str]:
        """Keep decisions as Git has them, or later; give the ids of those that were otherwise."""
        changed = []
        for decision in brought:
            earlier = self.find(organization, decision.id)
            if earlier is not None:
                decision = replace(decision, origin=earlier.origin)
            if earlier == decision:
                continue
            if earlier is not None:
                _check_uncontradicted([(earlier, decision)])
                decision = merge_decisions(decision, earlier)
            self._store.put(decision)
            if earlier is None or _plain(earlier) != _plain(decision):
                changed.append(decision.id)
            self._settle(decision)
            if earlier is None:
                role = Role.HUMAN if decision.authorship is Authorship.HUMAN else Role.AGENT
                author = Caller(name=decision.author, role=role)
                self._trail.log(author, organization, "take_in", Kind.DECISION, [decision.id])
        return changed

    def _settle(self, decision: Decision) -> None:
        """Note on the proposal that became a decision what an act that was cut short did not."""
        if decision.proposal is None:
            return
        found = self._store.get(Proposal, decision.organization, decision.proposal)
        if found is not None and found.status is ProposalStatus.PENDING:
            self._store.put(close_proposal(found, decision))

    # Rebuilding

    def read_git(self, organization: str, writer: "Writer") -> "GitSide":
        """Read a whole ledger and its history, for a rebuild.

        Raises LedgerError if Git cannot be read.
        """
        from minutebook.ledger.history import news

        head = writer.look()
        written = self._written(organization, head)
        history = None if head is None else news(self.repository(organization), None, head)
        return GitSide(writer, head, written, history)

    def _rebuild(self, caller: Caller, organization: str, path: str, git: "GitSide") -> Rebuilt:
        kept, written = self._kept(organization), git.written
        _check_uncontradicted((kept[id], written[id]) for id in kept.keys() & written.keys())
        whole = {**kept, **written}
        for id in kept.keys() & written.keys():
            whole[id] = merge_decisions(written[id], kept[id])
        found = violations(whole.values())
        _check_sound(_without_conflicts(found))
        notes: tuple[Violation, ...] = ()
        if git.history is not None:
            # Also stamps each decision with the commit that last wrote it.
            stamps = {each.id: each.commit_id for each in git.history.decisions}
            whole = {
                id: replace(each, commit_id=stamps.get(id, each.commit_id))
                for id, each in whole.items()
            }
            notes = git.history.violations
        lacking = [
            each
            for id, each in sorted(whole.items())
            if id not in written or _plain(written[id]) != _plain(each)
        ]
        to_tables = self._keep(
            organization, (each for id, each in sorted(whole.items()) if kept.get(id) != each)
        )
        if lacking:
            self._bring_to_git(caller, organization, git.writer, lacking)
        elif git.head is not None:
            self._put_mark(organization, git.head)
        return Rebuilt(
            organization=organization,
            path=path,
            decisions=len(whole),
            to_tables=tuple(to_tables),
            to_git=tuple(each.id for each in lacking),
            conflicts=tuple(each for each in found if each.rule is Rule.ONE_ACTIVE),
            notes=notes,
        )

    def _written(self, organization: str, head: str | None) -> dict[str, Decision]:
        from minutebook.ledger.history import read_all

        if head is None:
            return {}
        found = read_all(self.repository(organization), head)
        _check_sound([each for each in found if isinstance(each, Violation)])
        return {each.id: each for each in found if isinstance(each, Decision)}

    def _bring_to_git(
        self, caller: Caller, organization: str, writer: "Writer", lacking: Sequence[Decision]
    ) -> None:
        what = f"Bring back {len(lacking)} decisions"
        try:
            committed = writer.commit(self._act(what, caller, lacking))
        except Conflict as error:
            # Another decision lies in the file of one that Git lacks.
            _check_sound([Violation(Rule.KEPT, (error.id,), error.reason)])
            raise
        for decision in committed.decisions:
            self._store.put(decision)
        self._put_mark(organization, committed.id)

    # Where and how far

    def repository(self, organization: str) -> "Repository":
        """Return the ledger of an organization, without creating or opening anything."""
        return self._locator.repository(organization)

    def _is_used(self, organization: str) -> bool:
        return self._locator.exists(organization) or self._mark(organization) is not None

    def _head(self, organization: str) -> str | None:
        return self.repository(organization).head() if self._locator.exists(organization) else None

    def _mark(self, organization: str) -> LedgerMark | None:
        return self._store.get(LedgerMark, organization, self._locator.mark_id(organization))

    def _put_mark(self, organization: str, commit: str) -> None:
        self._store.put(
            LedgerMark(
                organization=organization,
                id=self._locator.mark_id(organization),
                commit_id=commit,
                verified_at=self._clock(),
            )
        )

    def _organizations(self) -> list[str]:
        return sorted({*self._store.organizations(), self._locator.home})

    def _kept(self, organization: str) -> dict[str, Decision]:
        # Not `each`, which would miss what an import has put inside its transaction.
        every = self._store.find(Decision, Filter(organization=organization))
        return {each.id: each for each in every}

    def _sync_all(self, organizations: Iterable[str]) -> None:
        for organization in organizations:
            if not self._is_used(organization):
                continue
            try:
                self.sync(organization)
            except LedgerError as error:
                self._set_broken(organization, error)
            else:
                self._broken.pop(organization, None)

    def _set_broken(self, organization: str, error: LedgerError) -> None:
        known = self._broken.get(organization)
        self._broken[organization] = error
        if known is None or known.reason != error.reason:
            log.warning("the ledger of %s is read-only: %s", organization, error.reason)

    def _state(self, organization: str) -> LedgerState:
        mark, error = self._mark(organization), self._broken.get(organization)
        commit = None if mark is None else mark.commit_id
        path = self._locator.path(organization)
        if error is None:
            return LedgerState(organization, path, commit)
        ids = error.ids if isinstance(error, LedgerBroken) else ()
        return LedgerState(organization, path, commit, error.reason, error.remedy, ids)

    def _act(self, what: str, caller: Caller, decisions: Sequence[Decision]) -> "Act":
        from minutebook.ledger.writer import Act

        now, authorship, author = self._clock(), authorship_of(caller), caller.name
        owner = (ANYBODY, self._locator.user)
        by_owner = authorship is Authorship.HUMAN and not caller.token and author in owner
        if by_owner:
            author = self._locator.user
        elif author == ANYBODY and caller.call.origin is not None:
            author = caller.call.origin.client or author
        return Act(
            id=new_id(now, self._randbits),
            what=what,
            author=author,
            authorship=authorship,
            at=now,
            decisions=tuple(decisions),
            by_owner=by_owner,
            origin=caller.call.origin,
        )


@dataclass(frozen=True, slots=True)
class GitSide:
    """What a rebuild read of Git: the decisions as of a commit, and how they came about."""

    writer: "Writer"
    head: str | None
    written: dict[str, Decision]
    history: "News | None"


class Deciding:
    """A ledger that no other process of ours commits to meanwhile."""

    def __init__(self, ledgers: Ledgers, organization: str, writer: "Writer") -> None:
        self._ledgers = ledgers
        self._organization = organization
        self._writer = writer

    def repeat(self, attempt: Callable[[], T]) -> T:
        """Bring the tables to Git's head, then attempt a transaction; again where Git moved on."""

        def synced_attempt() -> T:
            self._ledgers.sync(self._organization)
            return attempt()

        return self._writer.repeat(synced_attempt)

    def commit(
        self, what: str, caller: Caller, plan: Callable[[], Sequence[Decision]]
    ) -> tuple[Decision, ...]:
        """Commit what `plan` returns, as `Ledgers.commit` does."""
        return self._ledgers.commit(self._organization, self._writer, what, caller, plan)

    def read(self) -> GitSide:
        """Read the whole ledger for a rebuild. Raises LedgerError if Git cannot be read."""
        return self._ledgers.read_git(self._organization, self._writer)


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """A ledger that was read for a rebuild, or why it could not be."""

    ledgers: Ledgers
    organization: str
    git: GitSide | LedgerError

    def run(self, caller: Caller) -> Rebuilt:
        """Rebuild the tables in one transaction.

        Raises LedgerError if Git could not be read, Forbidden as `Ledgers.rebuild` does.
        """
        if isinstance(self.git, LedgerError):
            raise self.git
        return self.ledgers.rebuild_from(caller, self.organization, self.git)


def _check_sound(found: Sequence[Violation]) -> None:
    """Raise LedgerBroken, with the first reason and all ids, if a ledger breaks a rule."""
    if not found:
        return
    ids = tuple(dict.fromkeys(id for each in found for id in each.ids))
    first = f"{', '.join(found[0].ids)}: {found[0].reason} ({found[0].rule})"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    raise LedgerBroken(
        f"the ledger's history does what none may do: {first}{more}",
        "see `git log` for who did it, undo it by `git revert`, then run `minutebook ledger rebuild`",
        ids,
    )


def _check_uncontradicted(pairs: Iterable[tuple[Decision, Decision]]) -> None:
    _check_sound(
        [
            Violation(Rule.FIXED, (kept.id,), f"its {name} is not what was recorded")
            for kept, written in pairs
            for name in fixed_differences(kept, written)
        ]
    )


def _without_conflicts(found: Sequence[Violation]) -> list[Violation]:
    """Drop targets with several active decisions: a merge brings them, a person settles them."""
    return [each for each in found if each.rule is not Rule.ONE_ACTIVE]


def _plain(decision: Decision) -> Decision:
    """Return what the ledger's file holds of a decision."""
    return replace(decision, commit_id=None, origin=None)
