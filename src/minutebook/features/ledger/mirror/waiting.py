"""Decisions that Git brought and that nobody here has believed yet: they wait as proposals."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from minutebook.record.ids import id_of, proposal_id_of, uuid_named
from minutebook.record.origin import Origin
from minutebook.record.records import Decision, DecisionStatus, Proposal, ProposalStatus

GIT = "git"
"""The program through which a decision came that this store did not make."""


SHOWN = 12
"""Digits of a commit's id that are shown."""


def waiting_id(decision: str, *, withdrawn: bool = False) -> str:
    """Return the id of the proposal as which a decision waits, or its end: the same each time."""
    named = uuid_named(f"{decision} withdrawn" if withdrawn else decision)
    return proposal_id_of(id_of(str(named)) or "")


def is_in_git(proposal: Proposal) -> bool:
    """Tell whether a proposal is a decision that Git brought."""
    return proposal.decision is not None and (
        proposal.id == waiting_id(proposal.decision) or is_withdrawal(proposal)
    )


def is_withdrawal(proposal: Proposal) -> bool:
    """Tell whether a proposal is the end of a decision, which Git brought."""
    return proposal.decision is not None and proposal.id == waiting_id(
        proposal.decision, withdrawn=True
    )


def build_waiting(decision: Decision, commit: str, author: str, now: datetime) -> Proposal:
    """Return the proposal as which a decision waits: the commit's author's, from now on."""
    is_end = decision.status is DecisionStatus.WITHDRAWN
    return Proposal(
        organization=decision.organization,
        id=waiting_id(decision.id, withdrawn=is_end),
        target=decision.target,
        title=f"Withdraw: {decision.title}" if is_end else decision.title,
        rationale=decision.rationale,
        status=ProposalStatus.PENDING,
        author=author,
        created_at=now,
        consequences=decision.consequences,
        supersedes=decision.supersedes,
        decision=decision.id,
        repository=decision.repository,
        user=decision.user,
        origin=origin_of(commit, author),
    )


def origin_of(commit: str, author: str) -> Origin:
    """Return where a decision comes from that Git brought."""
    return Origin(client=GIT, version=commit[:SHOWN], brought=author)


def believed(
    decision: Decision, known: Collection[str], earlier: Decision | None, *, may_end: bool
) -> Decision:
    """Return a decision of Git's as far as it is believed: replaced only by decisions that are known here.

    `earlier` is the decision here, which Git ends only if it `may_end` it.
    """
    by = tuple(id for id in decision.superseded_by if id in known)
    status = decision.status
    if status is DecisionStatus.WITHDRAWN and earlier is not None and not may_end:
        status = earlier.status
    if status is DecisionStatus.SUPERSEDED and not by:
        status = DecisionStatus.ACTIVE
    return replace(decision, status=status, superseded_by=by)
