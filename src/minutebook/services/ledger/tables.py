"""The decisions in the store, a copy of what the ledgers in Git say, and how far it follows them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from minutebook.domain.caller import Caller
from minutebook.domain.decision_drafts import close_proposal, fixed_differences, merge_decisions
from minutebook.domain.errors import LedgerBroken
from minutebook.domain.filters import Filter
from minutebook.domain.fingerprints import fingerprint
from minutebook.domain.lineage import Rule, TargetKey, Violation, scoped_target
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
from minutebook.domain.trail_texts import TAKE_IN
from minutebook.services.access.audit import Trail
from minutebook.services.access.visibility import Clock
from minutebook.store.protocol import Store


class DecisionTables:
    """Decisions and marks in the store; a mark names the commit that an organization's tables are at.

    `mark_id` returns the id of an organization's mark. Methods that write are called inside a
    transaction.
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

    def spelled(self, decision: Decision) -> Decision:
        """Return a decision with its target as the first decision on it spells it."""
        key = scoped_target(decision)
        same = {"repository": key.repository, "user": key.user, "target_key": key.target_key}
        here = Filter(organization=key.organization, equal=same)
        found = self._store.find(Decision, here, order=["created_at"], limit=1)
        return replace(decision, target=found[0].target) if found else decision

    def of(self, organization: str) -> dict[str, Decision]:
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

    def take_in(self, organization: str, brought: Iterable[Decision]) -> list[str]:
        """Put decisions as Git has them, or later; return the ids of those that were otherwise.

        Raises LedgerBroken if Git and the tables contradict each other.
        """
        changed = []
        for decision in brought:
            earlier = self.find(organization, decision.id)
            if earlier is not None:
                decision = replace(decision, origin=earlier.origin)
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
                role = Role.HUMAN if decision.authorship is Authorship.HUMAN else Role.AGENT
                author = Caller(name=decision.author, role=role)
                subjects = [decision.id]
                self._trail.log(author, organization, TAKE_IN, Kind.DECISION, subjects, begun=begun)
        return changed

    def _settle(self, decision: Decision) -> None:
        """Close the proposal that became a decision, if a kill kept that from being done."""
        if decision.proposal is None:
            return
        found = self._store.get(Proposal, decision.organization, decision.proposal)
        if found is not None and found.status is ProposalStatus.PENDING:
            self._store.put(close_proposal(found, decision))


def check_sound(found: Sequence[Violation]) -> None:
    """Raise LedgerBroken, with the first reason and all ids, if a ledger breaks a rule."""
    if not found:
        return
    ids = tuple(dict.fromkeys(id for violation in found for id in violation.ids))
    first = f"{', '.join(found[0].ids)}: {found[0].reason} ({found[0].rule})"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    raise LedgerBroken(
        f"the ledger's history does what none may do: {first}{more}",
        "see `git log` for who did it, undo it by `git revert`, then run `minutebook ledger rebuild`",
        ids,
    )


def check_uncontradicted(pairs: Iterable[tuple[Decision, Decision]]) -> None:
    """Raise LedgerBroken if two readings of one decision differ in what never changes."""
    check_sound(
        [
            Violation(Rule.FIXED, (earlier.id,), f"its {name} is not what was recorded")
            for earlier, written in pairs
            for name in fixed_differences(earlier, written)
        ]
    )


def without_conflicts(found: Sequence[Violation]) -> list[Violation]:
    """Drop targets with several active decisions: a merge brings them, a person settles them."""
    return [violation for violation in found if violation.rule is not Rule.ONE_ACTIVE]


def as_in_git(decision: Decision) -> Decision:
    """Return what the ledger's file holds of a decision."""
    return replace(decision, commit_id=None, origin=None)
