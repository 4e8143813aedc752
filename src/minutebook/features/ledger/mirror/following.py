"""Follow a ledger in Git: trusted commits go into the tables, the others wait as proposals."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from minutebook.features.ledger.keys.trust import LedgerTrust
from minutebook.features.ledger.lineage import Violation, violations_near
from minutebook.features.ledger.mirror.tables import (
    Bringer,
    DecisionTables,
    check_sound,
    without_conflicts,
)
from minutebook.features.ledger.mirror.waiting import SHOWN, build_waiting, origin_of, trusted_state
from minutebook.memory.access.visibility import Clock
from minutebook.record.errors import Conflict
from minutebook.record.origin import tidied
from minutebook.record.records import Decision, DecisionStatus, Proposal
from minutebook.record.writing.decision_drafts import merge_decisions

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.features.ledger.git.history import BranchChanges, DecisionCommit
    from minutebook.features.ledger.git.repository import Repository


@dataclass(slots=True)
class GitView:
    """The decisions of a ledger as Git has them at the commit `head`; `already_read` has some of them by id."""

    tables: DecisionTables
    repository: "Repository"
    head: str
    already_read: Mapping[str, Decision]
    differs_from_tables: bool
    """Whether Git may hold decisions, or states of them, that the tables lack."""
    _all: dict[str, Decision] | None = field(default=None)

    def find(self, id: str) -> Decision | None:
        """Return the decision with an id, or None."""
        found = self.already_read.get(id)
        if found is not None:
            return found
        if not self.differs_from_tables:
            return self.tables.find(self.repository.layout.organization, id)
        if self._all is None:
            from minutebook.features.ledger.git.history import read_all
            from minutebook.features.ledger.git.trees import with_commit_id

            read = read_all(self.repository, self.head)
            check_sound([each for each in read if isinstance(each, Violation)])
            decisions = (each for each in read if isinstance(each, Decision))
            self._all = {each.id: with_commit_id(each, self.head) for each in decisions}
        return self._all.get(id)


class LedgerFollower:
    """Puts decisions of trusted commits into the tables; call its methods inside a transaction.

    `owner` is the person whose repository it is, who pulled what others committed.
    """

    def __init__(
        self, tables: DecisionTables, trust: LedgerTrust, clock: Clock, owner: str
    ) -> None:
        self._tables = tables
        self._trust = trust
        self._clock = clock
        self._owner = owner

    def take_in(self, repository: "Repository", changes: "BranchChanges") -> None:
        """Store the changes in Git: trusted ones as decisions, others as proposals.

        Raises LedgerBroken if the ledger would not be sound.
        """
        if changes.head is None:
            return
        view = self.view(repository, changes.head, changes.decisions)
        ids = [each.id for each in changes.decisions]
        # Several active decisions on one target do not make a ledger unsound.
        check_sound(without_conflicts(violations_near(ids, view.find, lambda _: ())))
        organization = repository.layout.organization
        states = self.trusted(view, changes)
        self._tables.take_in(organization, states, partial(self.bringer, changes))
        self.propose_untrusted(changes)

    def view(self, repository: "Repository", head: str, read: Iterable[Decision]) -> GitView:
        """Return the decisions as Git has them at the commit `head`; `read` are those that were read already."""
        differs = self._tables.has_untrusted(repository.layout.organization)
        return GitView(self._tables, repository, head, {each.id: each for each in read}, differs)

    def trusted(self, view: GitView, changes: "BranchChanges") -> list[Decision]:
        """Return the decisions of trusted commits and those that they superseded, in the states that these commits made."""
        new = {each.id for each in changes.decisions if self._is_newly_trusted(each, changes)}
        new = self._with_ancestors(view, new)
        known = {each.id for each in changes.decisions if not self._is_unknown(each)}
        may_end = {id for id, by in changes.changed_by.items() if self._trust.trusts(by)}
        return self._states(view, new, {*new, *known}, may_end)

    def _is_newly_trusted(self, decision: Decision, changes: "BranchChanges") -> bool:
        """Tell whether a commit that is trusted added a decision that the tables do not know, and not in the future."""
        commit = changes.added_by.get(decision.id)
        if commit is None or not self._is_unknown(decision) or not self._trust.trusts(commit):
            return False
        return commit.is_ours or not self._trust.is_future_dated(decision)

    def propose_untrusted(self, changes: "BranchChanges") -> None:
        """Put a proposal for each decision, and each withdrawal, in Git that the tables lack after `take_in`."""
        for each in changes.decisions:
            earlier = self._tables.find(each.organization, each.id)
            writer = (changes.added_by if earlier is None else changes.changed_by).get(each.id)
            if earlier is None:
                is_missing = each.status is DecisionStatus.ACTIVE
            else:
                is_withdrawn = each.status is DecisionStatus.WITHDRAWN
                is_missing = is_withdrawn and earlier.status is not DecisionStatus.WITHDRAWN
            if writer is not None and is_missing:
                proposal = build_waiting(each, writer.id, tidied(writer.author), self._clock())
                self._tables.put_waiting(proposal, self._bringer(writer, each))

    def accept(
        self, repository: "Repository", proposal: Proposal
    ) -> tuple[Decision, list[Decision]]:
        """Return the decision for which a proposal waits, as it is once it is accepted, and the others that this changes.

        Raises Conflict if Git does not have it any more, or its date has not come.
        """
        from minutebook.features.ledger.git.history import whole_id

        organization, id = proposal.organization, proposal.decision or ""
        head = self._tables.commit_id(organization)
        view = None if head is None else self.view(repository, head, ())
        found = None if view is None else view.find(id)
        if view is None or found is None:
            raise Conflict(proposal.id, "the ledger's branch does not have it any more")
        if self._trust.is_future_dated(found):
            day = found.created_at.date().isoformat()
            raise Conflict(proposal.id, "its date, {day}, has not come; accept it then", day=day)
        new = self._with_ancestors(view, {id})
        states = {each.id: each for each in self._states(view, new, new, {id})}
        commit = whole_id(repository, "" if proposal.origin is None else proposal.origin.version)
        decision = replace(states.pop(id), commit_id=commit, origin=proposal.origin)
        earlier = self._tables.find(organization, id)
        if earlier is not None:
            decision = merge_decisions(replace(decision, origin=earlier.origin), earlier)
        return decision, list(states.values())

    def accept_all_waiting(self, repository: "Repository") -> None:
        """Store every decision that waits, since everyone is trusted now."""
        organization = repository.layout.organization
        for proposal in self._tables.waiting(organization):
            with suppress(Conflict):
                decision, others = self.accept(repository, proposal)
                by = Bringer(self._owner, "everyone is believed (ledger_trust)", proposal.origin)
                self._tables.take_in(organization, [decision, *others], partial(_always, by))

    def bringer(self, changes: "BranchChanges | None", decision: Decision) -> Bringer:
        """Return the bringer of a decision from Git; without a note if the commit is unknown or this store's own."""
        commit = None
        if changes is not None:
            commit = changes.added_by.get(decision.id) or changes.changed_by.get(decision.id)
        if commit is None or commit.is_ours:
            return Bringer(self._owner)
        return self._bringer(commit, decision)

    def _bringer(self, commit: "DecisionCommit", decision: Decision) -> Bringer:
        """Return the actor and the note for the trail of a decision that a commit brought."""
        author = tidied(commit.author)
        note = (
            f"commit {commit.id[:SHOWN]} by {author}, in the name of {tidied(decision.author)} "
            f"({decision.authorship})"
        )
        if commit.signer:
            note += f", signed by {tidied(commit.signer)}"
        return Bringer(self._owner, note, origin_of(commit.id, author))

    def _is_unknown(self, decision: Decision) -> bool:
        return self._tables.find(decision.organization, decision.id) is None

    def _with_ancestors(self, view: GitView, new: Collection[str]) -> set[str]:
        """Return the ids of newly trusted decisions and of those that they superseded and the tables lack."""
        found, waiting = set(new), list(new)
        while waiting:
            decision = view.find(waiting.pop())
            for id in () if decision is None else decision.supersedes:
                before = view.find(id)
                if before is not None and id not in found and self._is_unknown(before):
                    found.add(id)
                    waiting.append(id)
        return found

    def _states(
        self, view: GitView, new: Collection[str], ids: Collection[str], may_end: Collection[str]
    ) -> list[Decision]:
        """Return the decisions with `ids`, and those that the `new` ones superseded, each as far as it is trusted.

        `new` are the ids of newly trusted decisions, `may_end` of those that Git may withdraw.
        """
        organization = view.repository.layout.organization
        read = {id: found for id in ids if (found := view.find(id)) is not None}
        for id in new:
            for old in read[id].supersedes if id in read else ():
                if old not in read and (found := view.find(old)) is not None:
                    read[old] = found
        states = []
        for id, each in sorted(read.items()):
            known = {
                successor
                for successor in each.superseded_by
                if successor in new or self._tables.find(organization, successor) is not None
            }
            earlier = self._tables.find(organization, id)
            states.append(trusted_state(each, known, earlier, may_end=id in may_end))
        return states


def _always(bringer: Bringer, decision: Decision) -> Bringer:
    """Return the same bringer for every decision."""
    return bringer
