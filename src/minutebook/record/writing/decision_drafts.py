"""A caller's draft of a decision, and the decision or proposal that it makes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from minutebook.record.caller import Caller
from minutebook.record.control_characters import is_blank
from minutebook.record.errors import Forbidden, InvalidInput
from minutebook.record.records import (
    Authorship,
    Decision,
    DecisionStatus,
    Proposal,
    ProposalStatus,
    Role,
)
from minutebook.record.writing.drafts import ScopeKey, resolve_scope

MIN_RATIONALE = 10
"""The least characters of the rationale of a first decision, or of a proposal."""

MIN_RATIONALE_TO_SUPERSEDE = 15
"""The least characters of the rationale of a decision that supersedes another."""

ERASED = "[erased]"
"""Stands in the place of an erased title and rationale, and of the subject of their commit."""

_LIFE_ORDER = {DecisionStatus.ACTIVE: 0, DecisionStatus.WITHDRAWN: 1, DecisionStatus.SUPERSEDED: 2}

IMMUTABLE_FIELDS = (
    "organization",
    "target",
    "title",
    "rationale",
    "consequences",
    "authorship",
    "author",
    "created_at",
    "supersedes",
    "proposal",
    "repository",
    "user",
)
"""The fields that no act may change."""


def authorship_of(caller: Caller) -> Authorship:
    """Return whether the caller counts as a person or an agent, by their role alone."""
    agents = (Role.AGENT, Role.VIEWER)
    return Authorship.AGENT if caller.role in agents else Authorship.HUMAN


def check_may_accept(caller: Caller) -> None:
    """Raise Forbidden to all but an admin: they alone accept proposals."""
    if caller.role is not Role.ADMIN:
        reason = "the role {role} may not accept; an admin may"
        raise Forbidden("accept", reason, needs=Role.ADMIN, role=caller.role)


@dataclass(frozen=True, slots=True)
class DecisionDraft:
    """A caller's draft of a decision: its target, the choice, the reason, the consequences."""

    title: str
    target: str
    rationale: str
    consequences: tuple[str, ...] = ()


def check_draft(draft: DecisionDraft, least: int) -> None:
    """Raise InvalidInput if title or target is blank, or the rationale is shorter than `least`.

    Raises InvalidInput also for half a character (a lone surrogate), which no file can hold.
    """
    for name in ("title", "target", "rationale", "consequences"):
        try:
            "".join(getattr(draft, name)).encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(name, "must be whole characters (one is half of one)") from error
    for name in ("title", "target"):
        if is_blank(getattr(draft, name)):
            raise InvalidInput(name, "must not be blank")
    if len(draft.rationale) < least:
        raise InvalidInput("rationale", "must have at least {least} characters", least=least)


def build_decision(caller: Caller, draft: DecisionDraft, id: str, now: datetime) -> Decision:
    """Return the active decision that a draft describes.

    Raises Refused if the caller may not write.
    """
    fields = _shared_fields(caller, draft, resolve_scope(caller, None, None, None), id, now)
    return Decision(**fields, status=DecisionStatus.ACTIVE, authorship=authorship_of(caller))


def build_proposal(
    caller: Caller, draft: DecisionDraft, supersedes: Sequence[str], id: str, now: datetime
) -> Proposal:
    """Return the proposal that a draft describes. Raises Refused if the caller may not write."""
    fields = _shared_fields(caller, draft, resolve_scope(caller, None, None, None), id, now)
    replaced = tuple(sorted(set(supersedes)))
    return Proposal(**fields, status=ProposalStatus.PENDING, supersedes=replaced)


def build_accepted(caller: Caller, proposal: Proposal, id: str, now: datetime) -> Decision:
    """Return the decision that a proposal becomes: its accepter's, in the proposal's scope."""
    fields = _shared_fields(caller, proposal, proposal, id, now)
    authorship = authorship_of(caller)
    return Decision(
        **fields, status=DecisionStatus.ACTIVE, authorship=authorship, proposal=proposal.id
    )


def close_proposal(proposal: Proposal, decision: Decision) -> Proposal:
    """Note on a proposal that it became a decision."""
    return replace(
        proposal,
        status=ProposalStatus.ACCEPTED,
        settled_at=decision.created_at,
        settled_by=decision.author,
        decision=decision.id,
    )


def accepted(proposal: Proposal, decision: Decision, caller: Caller, now: datetime) -> Proposal:
    """Note on a proposal that the caller accepted it, as a decision that was there."""
    return replace(close_proposal(proposal, decision), settled_at=now, settled_by=caller.name)


def declined(proposal: Proposal, caller: Caller, now: datetime) -> Proposal:
    """Note on a proposal that the caller declined it."""
    return replace(proposal, status=ProposalStatus.DECLINED, settled_at=now, settled_by=caller.name)


def pending_again(proposal: Proposal) -> Proposal:
    """Return a declined proposal as it was before it was declined."""
    return replace(proposal, status=ProposalStatus.PENDING, settled_at=None, settled_by=None)


def immutable_differences(one: Decision, other: Decision) -> list[str]:
    """Return the names of the immutable fields that differ between two readings of a decision."""
    return [name for name in IMMUTABLE_FIELDS if getattr(one, name) != getattr(other, name)]


def erased(decision: Decision) -> Decision:
    """Return a decision with its text erased."""
    return replace(decision, title=ERASED, rationale=ERASED, consequences=())


def is_erased_decision(decision: Decision) -> bool:
    """Tell whether the text of a decision was erased."""
    return decision == erased(decision)


def merge_decisions(one: Decision, other: Decision) -> Decision:
    """Return two versions of one decision as one: with the later status, and the successors of both."""
    superseded_by = tuple(sorted({*one.superseded_by, *other.superseded_by}))
    status = max(one.status, other.status, key=_LIFE_ORDER.__getitem__)
    origin = one.origin or other.origin
    return replace(one, status=status, superseded_by=superseded_by, origin=origin)


def _shared_fields(
    caller: Caller,
    content: DecisionDraft | Proposal,
    scope: ScopeKey | Proposal,
    id: str,
    now: datetime,
) -> dict[str, Any]:
    """Return the fields that decisions and proposals share."""
    return {
        "organization": scope.organization,
        "id": id,
        "target": content.target,
        "title": content.title,
        "rationale": content.rationale,
        "author": caller.name,
        "created_at": now,
        "consequences": content.consequences,
        "repository": scope.repository,
        "user": scope.user,
        "origin": caller.call.origin,
    }
