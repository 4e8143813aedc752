"""Make a ledger and the tables agree where each lacks decisions that the other has."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.features.ledger.lineage import Rule, Violation, violations
from minutebook.features.ledger.mirror.tables import (
    as_in_git,
    check_sound,
    check_uncontradicted,
    without_conflicts,
)
from minutebook.features.ledger.repositories import Ledgers, LockedLedger
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Forbidden, LedgerError
from minutebook.record.filters import default_organization
from minutebook.record.policy import Scope
from minutebook.record.reason import count_of
from minutebook.record.records import Authorship, Decision, Kind, Role
from minutebook.record.writing.decision_drafts import authorship_of, merge_decisions

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.features.ledger.git.history import BranchChanges


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The result of a rebuild: how many decisions there are, and the ids of those that it copied.

    `to_tables` were copied from Git, `to_git` from the tables. `conflicts` are targets on which several
    decisions are active, `notes` rules that earlier commits broke, without effect by now, `waiting` the
    proposals for decisions in Git that nobody here has accepted.
    """

    organization: str
    path: str
    decisions: int
    to_tables: tuple[str, ...]
    to_git: tuple[str, ...]
    conflicts: tuple[Violation, ...]
    notes: tuple[Violation, ...]
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GitSide:
    """The Git side of a rebuild: `written` has the decisions as of `head` by id, `history` the changes up to it."""

    ledger: LockedLedger
    head: str | None
    written: dict[str, Decision]
    history: "BranchChanges | None"

    def with_commit_id(self, decisions: dict[str, Decision]) -> dict[str, Decision]:
        """Return decisions, each with the id of the commit that last wrote it."""
        if self.history is None:
            return decisions
        commit_ids = {decision.id: decision.commit_id for decision in self.history.decisions}
        return {
            id: replace(decision, commit_id=commit_ids.get(id, decision.commit_id))
            for id, decision in decisions.items()
        }

    def lacks(self, decision: Decision) -> bool:
        """Tell whether Git does not have a decision, or lacks a change to it."""
        written = self.written.get(decision.id)
        if written is None:
            return True
        there, here = as_in_git(written), as_in_git(decision)
        return merge_decisions(there, here) != there


class Rebuilds:
    """Rebuilds ledgers and tables from one another."""

    def __init__(self, app: App) -> None:
        self._ledgers = app.get(Ledgers)
        self._tables = self._ledgers.tables
        self._trail, self._embeddings = app.trail, app.embeddings

    def rebuild(self, caller: Caller) -> Rebuilt:
        """Make Git and the tables of the caller's organization agree: each gets the decisions it lacks.

        If servers share the store, this server's repository is the ledger from now on. Where both have a
        decision in different states, the later state is kept. Raises LedgerBroken, and changes nothing, if
        they contradict each other or the result would not be sound, Forbidden for agents, LedgerBusy if
        another commit comes meanwhile.
        """
        organization = default_organization(caller)
        self._check_may_rebuild(caller, organization)
        with self._ledgers.locked_to_adopt(organization) as ledger:
            git = self._read_git(organization, ledger)
            return self.rebuild_from(caller, organization, git)

    @contextmanager
    def rebuilding(self, organizations: Iterable[str]) -> Iterator[dict[str, "Rebuilding"]]:
        """Lock ledgers and read them; yield a rebuild for each organization, to be run in a transaction.

        The rebuild of a ledger that cannot be locked or read raises the LedgerError when it is run.
        """
        with ExitStack() as stack:
            ready = {}
            for organization in sorted(set(organizations)):
                try:
                    ledger = stack.enter_context(self._ledgers.locked(organization))
                    git = self._read_git(organization, ledger)
                    ready[organization] = Rebuilding(self, organization, git)
                except LedgerError as error:
                    ready[organization] = Rebuilding(self, organization, error)
            yield ready

    def rebuild_from(self, caller: Caller, organization: str, git: GitSide) -> Rebuilt:
        """Rebuild from the decisions that were read from Git, in one transaction. Raises as `rebuild`."""
        self._check_may_rebuild(caller, organization)
        path = self._ledgers.path(organization)
        with self._trail.audited(caller, organization, "rebuild", Kind.LEDGER, path) as audit:
            audit.check(Scope(organization))
            rebuilt = self._rebuild(caller, organization, path, git)
        self._ledgers.forget_fault(organization)
        self._embeddings.notify()
        return rebuilt

    def _check_may_rebuild(self, caller: Caller, organization: str) -> None:
        path = self._ledgers.path(organization)
        with self._trail.audit_refusals(caller, organization, "rebuild", Kind.LEDGER, path):
            if authorship_of(caller) is Authorship.AGENT:
                reason = "the role {role} may not rebuild a ledger; a person may"
                raise Forbidden("rebuild", reason, needs=Role.HUMAN, role=caller.role)

    def _read_git(self, organization: str, ledger: LockedLedger) -> GitSide:
        """Read a whole ledger and its history. Raises LedgerError if Git cannot be read."""
        from minutebook.features.ledger.git.history import read_all

        head = ledger.refresh_head()
        if head is None:
            return GitSide(ledger, None, {}, None)
        repository = self._ledgers.repository(organization)
        found = read_all(repository, head)
        check_sound([each for each in found if isinstance(each, Violation)])
        written = {each.id: each for each in found if isinstance(each, Decision)}
        return GitSide(ledger, head, written, self._ledgers.history(organization, head))

    def _rebuild(self, caller: Caller, organization: str, path: str, git: GitSide) -> Rebuilt:
        """Carry out `rebuild` on Git's side of the ledger as read. Raises LedgerBroken before it changes anything."""
        git.ledger.note_place()
        tables, written = self._tables.decisions_of(organization), git.written
        both = tables.keys() & written.keys()
        check_uncontradicted((tables[id], written[id]) for id in both)
        merged = {id: merge_decisions(written[id], tables[id]) for id in both}
        check_sound(without_conflicts(violations({**tables, **written, **merged}.values())))
        agreed = tables | self._trusted(organization, tables, git)
        found = violations(agreed.values())
        decisions = [decision for _, decision in sorted(git.with_commit_id(agreed).items())]
        lacking = [decision for decision in decisions if git.lacks(decision)]
        to_tables = self._tables.take_in(
            organization,
            [each for each in decisions if tables.get(each.id) != each],
            partial(self._ledgers.following.bringer, git.history),
        )
        if git.history is not None:
            self._ledgers.following.propose_untrusted(git.history)
        if lacking:
            self._bring_to_git(caller, git.ledger, lacking)
        elif git.head is not None:
            self._tables.put_mark(organization, git.head)
        return Rebuilt(
            organization=organization,
            path=path,
            decisions=len(decisions),
            to_tables=tuple(to_tables),
            to_git=tuple(decision.id for decision in lacking),
            conflicts=tuple(each for each in found if each.rule is Rule.ONE_ACTIVE),
            notes=() if git.history is None else git.history.violations,
            waiting=tuple(sorted(each.id for each in self._tables.waiting(organization))),
        )

    def _trusted(
        self, organization: str, tables: Mapping[str, Decision], git: GitSide
    ) -> dict[str, Decision]:
        """Return Git's decisions as far as they are trusted, each merged with the one in the tables, by id."""
        if git.head is None or git.history is None:
            return {}
        following = self._ledgers.following
        view = following.view(
            self._ledgers.repository(organization), git.head, git.written.values()
        )
        return {
            each.id: merge_decisions(each, tables[each.id]) if each.id in tables else each
            for each in following.trusted(view, git.history)
        }

    def _bring_to_git(
        self, caller: Caller, ledger: LockedLedger, lacking: Sequence[Decision]
    ) -> None:
        """Commit the decisions that Git lacks. Raises LedgerBroken if another one has the file of one of them."""
        try:
            self._tables.put(
                ledger.write(f"Bring back {count_of(len(lacking), 'decision')}", caller, lacking)
            )
        except Conflict as error:
            check_sound([Violation(Rule.KEPT, (error.id,), error.reason)])
            raise


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """A rebuild that is ready to run: the Git side, or the error why it could not be read."""

    rebuilds: Rebuilds
    organization: str
    git: GitSide | LedgerError

    def run(self, caller: Caller) -> Rebuilt:
        """Rebuild the tables in one transaction.

        Raises LedgerError if Git could not be read, Forbidden as `Rebuilds.rebuild` does.
        """
        if isinstance(self.git, LedgerError):
            raise self.git
        return self.rebuilds.rebuild_from(caller, self.organization, self.git)
