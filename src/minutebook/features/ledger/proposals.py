"""Propose a decision, and make a decision of a proposal."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from minutebook.app import App
from minutebook.features.ledger import lineage
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.mirror.waiting import is_in_git
from minutebook.features.ledger.recording import DecisionWriter
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict
from minutebook.record.ids import decision_id, proposal_id
from minutebook.record.records import Decision, Kind, Proposal, ProposalStatus
from minutebook.record.writing import decision_drafts
from minutebook.record.writing.decision_drafts import (
    MIN_RATIONALE,
    DecisionDraft,
    build_accepted,
    build_proposal,
    check_draft,
    close_proposal,
    declined,
    pending_again,
)


class Proposals:
    """Keeps, accepts and declines proposals; each can be accepted once its review window is over."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._writer = app.get(DecisionWriter)
        self._ledgers = self._writer.ledgers
        self._secret = app.get(ApprovalSecret)
        self._trail, self._clock = app.trail, app.clock
        self._randbits = app.infrastructure.randbits
        self._window = timedelta(seconds=app.settings.of(LedgerSettings).review_window)

    def propose(
        self, caller: Caller, draft: DecisionDraft, supersedes: Sequence[str] = ()
    ) -> Proposal:
        """Keep a proposal for an admin to accept; `supersedes` names decisions on its target.

        Raises InvalidInput, Refused, NotFound, Conflict for a decision on another target.
        """
        check_draft(draft, MIN_RATIONALE)
        draft = self._writer.screened(caller, draft)
        now = self._clock()
        id = proposal_id(now, self._randbits)
        with self._trail.audit_refusals(caller, None, "propose", Kind.PROPOSAL, id):
            policy.check_not_viewer(caller, "propose")
            self._ledgers.sync_visible(caller)
            old = [self._store.read(caller, Decision, each) for each in supersedes]
            proposal = build_proposal(caller, draft, supersedes, id, now)
        if old:
            proposal = lineage.with_scope_of(old[0], proposal)
        key = lineage.scoped_target(proposal)
        for each in old:
            if lineage.scoped_target(each) != key:
                raise Conflict(each.id, lineage.why_not_replaceable(each, key))
        self._writer.propose(caller, proposal)
        return proposal

    def accept(self, caller: Caller, id: str, secret: str | None) -> Decision:
        """Make a proposal the active decision on its target, in place of the one there was.

        A proposal that waits for a decision from Git only puts that into the tables, without a commit. Raises
        Forbidden if the caller is no admin, NotFound if there is no such proposal, Conflict if it was
        settled before, UnderReview if its review is not over, WrongSecret or GuessedTooOften as
        `ApprovalSecret.check` does, LedgerError if the ledger cannot be written.
        """
        with self._trail.audit_refusals(caller, None, "accept", Kind.PROPOSAL, id):
            decision_drafts.check_may_accept(caller)
        now = self._clock()
        self._ledgers.sync_visible(caller)
        proposal = self._store.read(caller, Proposal, id)
        lineage.check_is_pending(proposal)
        with self._trail.audit_refusals(caller, proposal.organization, "accept", Kind.PROPOSAL, id):
            policy.check_may_write_to(caller, "accept", proposal)
        self._secret.check(caller, "accept", id, secret)
        with self._trail.audit_refusals(caller, proposal.organization, "accept", Kind.PROPOSAL, id):
            lineage.check_review_is_over(proposal, now, self._window)
        if is_in_git(proposal):
            return self._writer.accept_from_git(caller, proposal, now)
        decision = self._ledgers.tables.with_first_spelling(
            build_accepted(caller, proposal, decision_id(now, self._randbits), now)
        )

        def plan() -> list[Decision]:
            """Return the decision and those that it supersedes, once the ledger is locked."""
            # Others may have accepted it, or decided on its target, meanwhile.
            lineage.check_is_pending(self._store.read(caller, Proposal, id))
            active = self._ledgers.tables.active_on(lineage.scoped_target(decision))
            return lineage.superseding(decision, active)

        def close(decision: Decision) -> None:
            self._store.put(close_proposal(self._store.read(caller, Proposal, id), decision))

        return self._writer.record(caller, "accept", decision, plan, close)

    def decline(self, caller: Caller, id: str) -> Proposal:
        """Settle a proposal without a decision.

        Raises NotFound, Forbidden to all but an admin, Conflict once it is settled.
        """
        self._ledgers.sync_visible(caller)
        home = self._store.read(caller, Proposal, id).organization
        with self._trail.audited(caller, home, "decline", Kind.PROPOSAL, id) as audit:
            proposal = self._store.read(caller, Proposal, id)
            lineage.check_may_decline(caller)
            audit.check(proposal)
            lineage.check_is_pending(proposal)
            after = declined(proposal, caller, self._clock())
            self._store.put(after)
        return after

    def reopen(self, caller: Caller, id: str) -> Proposal:
        """Let a proposal that was declined wait for an admin again.

        Raises NotFound, Forbidden to all but an admin, Conflict if it was not declined.
        """
        self._ledgers.sync_visible(caller)
        home = self._store.read(caller, Proposal, id).organization
        with self._trail.audited(caller, home, "reopen", Kind.PROPOSAL, id) as audit:
            proposal = self._store.read(caller, Proposal, id)
            lineage.check_may_decline(caller)
            audit.check(proposal)
            lineage.check_is_declined(proposal)
            after = pending_again(proposal)
            self._store.put(after)
        return after

    def pending(self, caller: Caller) -> list[Proposal]:
        """Return the proposals that wait for an admin, oldest first."""
        self._ledgers.sync_visible(caller)
        pending = ProposalStatus.PENDING
        found = self._store.seen_by(caller).narrowed(status=pending).find(Proposal)
        return sorted(found, key=lambda each: (each.created_at, each.id))

    def opens(self, proposal: Proposal) -> datetime:
        """Return the instant from which a proposal may be accepted."""
        return proposal.created_at + self._window
