"""The decisions in the store, a copy of the ledgers in Git, and how far it follows them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from minutebook.features.ledger.lineage import Rule, TargetKey, Violation, scoped_target
from minutebook.features.ledger.mirror.waiting import is_in_git, waiting_id
from minutebook.memory.access.audit import Trail
from minutebook.memory.access.visibility import Clock
from minutebook.record.caller import Caller
from minutebook.record.errors import LedgerBroken
from minutebook.record.filters import Filter
from minutebook.record.origin import Origin
from minutebook.record.reason import Reason
from minutebook.record.records import (
    Decision,
    DecisionStatus,
    LedgerMark,
    Proposal,
    ProposalStatus,
    Role,
)
from minutebook.record.trust.acts import TAKE_IN
from minutebook.record.trust.fingerprints import fingerprint
from minutebook.record.writing.decision_drafts import (
    close_proposal,
    immutable_differences,
    merge_decisions,
)
from minutebook.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Bringer:
    """The bringer of a decision from Git: `actor` is the person with the repository, `note` is for the trail."""

    actor: str
    note: str = ""
    origin: Origin | None = None


class DecisionTables:
    """Decisions in the store, and for each organization a mark with the commit that its tables are at.

    `mark_id` returns the id of an organization's mark. Call methods that write inside a transaction.
    """

    def __init__(
        self, store: Store, trail: Trail, mark_id: Callable[[str], str], clock: Clock
    ) -> None:
        self._store = store
        self._trail = trail
        self._mark_id = mark_id
        self._clock = clock

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

    def with_first_spelling(self, decision: Decision) -> Decision:
        """Return a decision with its target spelled as in the first decision on that target."""
        key = scoped_target(decision)
        equal = {"repository": key.repository, "user": key.user, "target_key": key.target_key}
        on_target = Filter(organization=key.organization, equal=equal)
        found = self._store.find(Decision, on_target, order=["created_at"], limit=1)
        return replace(decision, target=found[0].target) if found else decision

    def decisions_of(self, organization: str) -> dict[str, Decision]:
        """Return all decisions of an organization, by id."""
        # Not `each`, which would miss what an import has put inside its transaction.
        every = self._store.find(Decision, Filter(organization=organization))
        return {decision.id: decision for decision in every}

    def mark(self, organization: str) -> LedgerMark | None:
        """Return the mark of an organization; None before its tables followed a ledger."""
        return self._store.get(LedgerMark, organization, self._mark_id(organization))

    def commit_id(self, organization: str) -> str | None:
        """Return the commit that an organization's tables are at; None without a mark."""
        mark = self.mark(organization)
        return None if mark is None else mark.commit_id

    def put_mark(self, organization: str, commit: str) -> None:
        """Note that an organization's tables are at a commit."""
        self._store.put(
            LedgerMark(
                organization=organization,
                id=self._mark_id(organization),
                commit_id=commit,
                verified_at=self._clock(),
            )
        )

    def put(self, decisions: Iterable[Decision]) -> None:
        """Put decisions as they are."""
        for decision in decisions:
            self._store.put(decision)

    def take_in(
        self,
        organization: str,
        decisions: Iterable[Decision],
        bringer: Callable[[Decision], Bringer],
    ) -> list[str]:
        """Put decisions from Git, each merged with the one in the tables; return the ids of those that this changed.

        `bringer` returns who brought a decision. Raises LedgerBroken if Git and the tables
        contradict each other.
        """
        changed = []
        for decision in decisions:
            earlier, by = self.find(organization, decision.id), bringer(decision)
            decision = replace(decision, origin=by.origin if earlier is None else earlier.origin)
            if earlier == decision:
                continue
            if earlier is not None:
                check_uncontradicted([(earlier, decision)])
                decision = merge_decisions(decision, earlier)
            begun = self._store.sequence(organization)
            self._store.put(decision)
            if earlier is None or as_in_git(earlier) != as_in_git(decision):
                changed.append(decision.id)
            self._settle(decision)
            if earlier is None or fingerprint(earlier) != fingerprint(decision):
                self._log(by, decision, begun)
        return changed

    def put_waiting(self, proposal: Proposal, by: Bringer) -> None:
        """Put the proposal for a decision from Git, unless it is there already."""
        if self._store.get(Proposal, proposal.organization, proposal.id) is not None:
            return
        begun = self._store.sequence(proposal.organization)
        self._store.put(proposal)
        self._log(by, proposal, begun)

    def waiting(self, organization: str) -> list[Proposal]:
        """Return the proposals for decisions from Git that nobody here has settled."""
        here = Filter(organization=organization, equal={"status": ProposalStatus.PENDING})
        return [each for each in self._store.find(Proposal, here) if is_in_git(each)]

    def has_untrusted(self, organization: str) -> bool:
        """Tell whether Git may hold decisions that nobody here has accepted."""
        unsettled = (ProposalStatus.PENDING, ProposalStatus.DECLINED)
        return any(
            self._store.count(Proposal, Filter(organization=organization, equal={"status": each}))
            for each in unsettled
        )

    def was_accepted(self, decision: Decision) -> bool:
        """Tell whether somebody here accepted a decision that Git brought."""
        id = waiting_id(decision.id)
        found = self._store.get(Proposal, decision.organization, id)
        return found is not None and found.status is ProposalStatus.ACCEPTED

    def _log(self, by: Bringer, record: Decision | Proposal, begun: int) -> None:
        """Log that a record was taken in from Git, as an act that began at `begun`."""
        actor = Caller(name=by.actor, role=Role.HUMAN)
        organization, subjects = record.organization, [record.id]
        self._trail.log(
            actor, organization, TAKE_IN, record.kind, subjects, note=by.note, begun=begun
        )

    def _settle(self, decision: Decision) -> None:
        """Close the proposal that became a decision, if a kill came before that, and the one that waited for it."""
        is_withdrawn = decision.status is DecisionStatus.WITHDRAWN
        for id in (decision.proposal, waiting_id(decision.id, withdrawn=is_withdrawn)):
            found = None if id is None else self._store.get(Proposal, decision.organization, id)
            if found is not None and found.status is ProposalStatus.PENDING:
                self._store.put(close_proposal(found, decision))


def check_sound(found: Sequence[Violation]) -> None:
    """Raise LedgerBroken, with the first reason and all ids, if a ledger breaks a rule."""
    if not found:
        return
    ids = tuple(dict.fromkeys(id for violation in found for id in violation.ids))
    first, *others = found
    reason = Reason(
        "the ledger's history breaks a rule: {ids}: {reason} ({rule})",
        ids=", ".join(first.ids),
        reason=first.reason,
        rule=str(first.rule),
    )
    if others:
        reason = Reason("{reason}, and {count} more", reason=reason, count=len(others))
    raise LedgerBroken(
        reason,
        Reason(
            "see `git log` for who did it, undo it by `git revert`, then run `minutebook ledger rebuild`"
        ),
        ids,
    )


def check_uncontradicted(pairs: Iterable[tuple[Decision, Decision]]) -> None:
    """Raise LedgerBroken if the two states of a decision in a pair differ in a field that never changes."""
    check_sound(
        [
            Violation(Rule.FIXED, (earlier.id,), "its {name} is not what was recorded", name=name)
            for earlier, written in pairs
            for name in immutable_differences(earlier, written)
        ]
    )


def without_conflicts(found: Sequence[Violation]) -> list[Violation]:
    """Return the violations but those of ONE_ACTIVE: a merge in Git causes these, and a person settles them."""
    return [violation for violation in found if violation.rule is not Rule.ONE_ACTIVE]


def as_in_git(decision: Decision) -> Decision:
    """Return the part of a decision that the ledger's file holds."""
    return replace(decision, commit_id=None, origin=None)
