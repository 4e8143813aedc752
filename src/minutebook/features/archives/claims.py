"""Claims: records of a file whose statements about author, verification and time are unproved, without the trust of these."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from minutebook.features.ledger.mirror.waiting import waiting_id
from minutebook.record.instants import capped_at_now
from minutebook.record.origin import Origin, as_client
from minutebook.record.records import Decision, Memory, Proposal, ProposalStatus, Record, Status

_PAST = ("event_time", "ingestion_time", "updated_at", "created_at", "changed_at", "at")
"""The fields with the instant at which something was said or done."""


def as_claim(record: Record, by: str, now: datetime) -> Record:
    """Return an imported record as a claim that `by` imported, not verified or locked by anybody.

    Instants of the past that lie in the future become `now`. A decision becomes a proposal.
    """
    if isinstance(record, Decision):
        record = _proposed(record)
    changes: dict[str, Any] = {
        name: capped_at_now(getattr(record, name), now) for name in _PAST if hasattr(record, name)
    }
    if isinstance(record, Memory):
        status = record.status
        if status is Status.LOCKED:
            status = record.unlocks_to or Status.ACTIVE
        if status is Status.VERIFIED:
            status = Status.UNVERIFIED
        changes |= {"status": status, "locked_by": None, "unlocks_to": None}
    if hasattr(record, "origin"):
        origin = record.origin or Origin()
        client, version = as_client(origin.client), as_client(origin.version)
        changes["origin"] = replace(origin, client=client, version=version, brought=by)
    return replace(record, **changes)


def is_claim_of(here: Record, record: Record, now: datetime) -> bool:
    """Tell whether a stored record is the claim that an earlier import made of this record."""
    origin = getattr(here, "origin", None)
    if origin is None or not origin.brought:
        return False
    claim = as_claim(record, origin.brought, now)
    instants = {name: getattr(here, name) for name in _PAST if hasattr(here, name)}
    return type(claim) is type(here) and replace(claim, **instants) == here


def loses_trust(record: Record) -> bool:
    """Tell whether a record states that somebody verified, locked or decided it, which a claim loses."""
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
