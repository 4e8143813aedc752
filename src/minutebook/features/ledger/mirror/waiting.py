"""Decisions from untrusted commits wait as proposals until somebody here accepts them."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from minutebook.record.ids import id_of, proposal_id_of, uuid_named
from minutebook.record.origin import Origin
from minutebook.record.records import Decision, DecisionStatus, Proposal, ProposalStatus

GIT = "git"
"""The client in the origin of a decision that came from Git."""

SHOWN = 12
"""Digits of a commit's id that are shown."""


def waiting_id(decision: str, *, withdrawn: bool = False) -> str:
    """Return the id of the proposal for a decision from Git, or for its withdrawal; always the same for a decision."""
    named = uuid_named(f"{decision} withdrawn" if withdrawn else decision)
    return proposal_id_of(id_of(str(named)) or "")


def is_in_git(proposal: Proposal) -> bool:
    """Tell whether a proposal waits for a decision from Git, or for the withdrawal of one."""
    id = proposal.decision
    return id is not None and proposal.id in (waiting_id(id), waiting_id(id, withdrawn=True))


def build_waiting(decision: Decision, commit: str, author: str, now: datetime) -> Proposal:
    """Return the proposal for a decision from Git, or for its withdrawal; its author is the commit's."""
    is_withdrawn = decision.status is DecisionStatus.WITHDRAWN
    return Proposal(
        organization=decision.organization,
        id=waiting_id(decision.id, withdrawn=is_withdrawn),
        target=decision.target,
        title=f"Withdraw: {decision.title}" if is_withdrawn else decision.title,
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
    """Return the origin of a decision from Git: its commit's id and author."""
    return Origin(client=GIT, version=commit[:SHOWN], brought=author)


def trusted_state(
    decision: Decision, known: Collection[str], earlier: Decision | None, *, may_end: bool
) -> Decision:
    """Return a decision from Git as far as it is trusted: superseded only by those with `known` ids.

    `earlier` is the decision in the tables, which Git withdraws only if it `may_end` it.
    """
    by = tuple(id for id in decision.superseded_by if id in known)
    status = decision.status
    if status is DecisionStatus.WITHDRAWN and earlier is not None and not may_end:
        status = earlier.status
    if status is DecisionStatus.SUPERSEDED and not by:
        status = DecisionStatus.ACTIVE
    return replace(decision, status=status, superseded_by=by)
