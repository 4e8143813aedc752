"""Unproved statements of a file about its records: kept as claims, without the trust they would give."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from minutebook.features.ledger.mirror.waiting import waiting_id
from minutebook.record.instants import capped_at_now
from minutebook.record.origin import Origin, as_client
from minutebook.record.records import Decision, Memory, Proposal, ProposalStatus, Record, Status

_PAST = ("event_time", "ingestion_time", "updated_at", "created_at", "changed_at", "at")
"""The fields that say when something was said or done."""


def as_claim(record: Record, by: str, now: datetime) -> Record:
    """Return an imported record as a claim: its author is unproved, and nobody verified or locked it.

    What it says was done at an instant that has not come yet was done now. A decision becomes a proposal.
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
    """Tell whether the stored record is the claim of this record, whenever that was imported."""
    origin = getattr(here, "origin", None)
    if origin is None or not origin.brought:
        return False
    claim = as_claim(record, origin.brought, now)
    instants = {name: getattr(here, name) for name in _PAST if hasattr(here, name)}
    return type(claim) is type(here) and replace(claim, **instants) == here


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
