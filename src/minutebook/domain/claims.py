"""What a file claims of its records, where nobody proved it: kept as a claim, without the trust that it would give."""

from dataclasses import replace
from typing import Any

from minutebook.domain.origin import Origin
from minutebook.domain.records import (
    Decision,
    Memory,
    Proposal,
    ProposalStatus,
    Record,
    Status,
)
from minutebook.domain.waiting import waiting_id


def as_claim(record: Record, by: str) -> Record:
    """Return a record as a file claims it, brought by somebody: who wrote it is a claim, and nobody verified or locked it.

    A decision becomes a proposal.
    """
    if isinstance(record, Decision):
        record = _proposed(record)
    changes: dict[str, Any] = {}
    if isinstance(record, Memory):
        status = record.status
        if status is Status.LOCKED:
            status = record.unlocks_to or Status.ACTIVE
        if status is Status.VERIFIED:
            status = Status.UNVERIFIED
        changes = {"status": status, "locked_by": None, "unlocks_to": None}
    if hasattr(record, "origin"):
        changes["origin"] = replace(record.origin or Origin(), brought=by)
    return replace(record, **changes)


def loses_trust(record: Record) -> bool:
    """Tell whether a record says that somebody verified, locked or decided it."""
    if isinstance(record, Memory):
        return record.status in (Status.VERIFIED, Status.LOCKED) or record.locked_by is not None
    return isinstance(record, Decision)


def _proposed(decision: Decision) -> Proposal:
    return Proposal(
        organization=decision.organization,
        id=waiting_id(decision.id),
        target=decision.target,
        title=decision.title,
        rationale=decision.rationale,
        status=ProposalStatus.PENDING,
        author=decision.author,
        created_at=decision.created_at,
        consequences=decision.consequences,
        supersedes=decision.supersedes,
        repository=decision.repository,
        user=decision.user,
        origin=decision.origin,
    )
