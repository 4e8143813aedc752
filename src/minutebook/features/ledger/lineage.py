"""Which decision holds for a target: the rules of a sound ledger, and of adding to it.

A ledger is a set of decisions that changes one act at a time. What holds of the set is checked around
the decisions that an act touched; what holds of each act is checked from before to after.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeVar

from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Decided, Forbidden, UnderReview
from minutebook.record.policy import check_may_write_to, check_not_viewer
from minutebook.record.reason import Reason
from minutebook.record.records import (
    Authorship,
    Decision,
    DecisionStatus,
    Proposal,
    ProposalStatus,
    Role,
)
from minutebook.record.writing.decision_drafts import IMMUTABLE_FIELDS, authorship_of
from minutebook.record.writing.targets import target_key

Placed = TypeVar("Placed", Decision, Proposal)


class Rule(StrEnum):
    """A rule that every ledger must keep."""

    ONE_ACTIVE = "one active decision on a target"
    MIRRORED = "supersedes and superseded_by are mirror images"
    SAME_SEAT = "a decision supersedes decisions on its own target"
    ENDED = "what was superseded is named by what superseded it"
    NO_CYCLE = "no decision supersedes its own past"
    FIXED = "what was decided does not change"
    KEPT = "no decision is removed"
    FORWARD = "no decision comes back"
    READABLE = "every file of a decision can be read"
    PLACED = "every decision lies in the file named for it"


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold, the decisions (or files) concerned, and how it shows."""

    rule: Rule
    ids: tuple[str, ...]
    reason: Reason

    def __init__(self, rule: Rule, ids: tuple[str, ...], reason: str, **values: object) -> None:
        # `reason` is given as a template with its values; the class is frozen.
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "reason", Reason(reason, **values))


class TargetKey(NamedTuple):
    """A target, however spelled, in one scope: at most one decision is active on it."""

    organization: str
    repository: str | None
    user: str | None
    target_key: str


Lookup = Callable[[str], Decision | None]
"""Returns the decision with an id, None if there is none."""

ActiveOn = Callable[[TargetKey], Sequence[Decision]]
"""Returns the active decisions on a target."""


def with_scope_of(first: Decision, record: Placed) -> Placed:
    """Return a decision or proposal moved to the scope of `first`, the decision that it supersedes."""
    return replace(
        record,
        organization=first.organization,
        repository=first.repository,
        user=first.user,
    )


def scoped_target(decision: Decision | Proposal) -> TargetKey:
    """Return organization, scope and target of a decision or proposal, as one key."""
    key = target_key(decision.target)
    return TargetKey(decision.organization, decision.repository, decision.user, key)


def why_not_replaceable(decision: Decision | Proposal, key: TargetKey) -> Reason:
    """Return why a decision on another target, or in another scope, cannot be superseded."""
    if target_key(decision.target) != key.target_key:
        return Reason("it is on another target, {target!r}", target=decision.target)
    if decision.organization != key.organization:
        return Reason(
            "it is in the organization {name!r}; a decision supersedes only those of its own "
            "organization, {own!r}",
            name=decision.organization,
            own=key.organization,
        )
    return Reason("it concerns another repository or user than the first that is named")


# What holds of the set


def violations(decisions: Iterable[Decision]) -> list[Violation]:
    """Find everything that does not hold in a whole ledger, each once, by rule and ids."""
    by_id = {decision.id: decision for decision in decisions}
    active: dict[TargetKey, list[Decision]] = {}
    for decision in by_id.values():
        if decision.status is DecisionStatus.ACTIVE:
            active.setdefault(scoped_target(decision), []).append(decision)
    return violations_near(by_id, by_id.get, lambda key: active.get(key, ()))


def violations_near(ids: Iterable[str], find: Lookup, active_on: ActiveOn) -> list[Violation]:
    """Find the violated rules around the decisions that an act touched.

    If every rule held before the act and nothing is found here, every rule holds after it. It looks
    at those decisions, those that they name, their targets, and their chains up to the end.
    """
    found: set[Violation] = set()
    followed: set[str] = set()
    keys: set[TargetKey] = set()
    for id in sorted(ids):
        decision = find(id)
        if decision is None:
            continue
        keys.add(scoped_target(decision))
        found.update(_unmirrored(decision, find))
        found.update(_badly_ended(decision))
        found.update(_cycle(decision, find, followed))
    for key in keys:
        found.update(_crowded(active_on(key)))
    return sorted(found, key=lambda each: (each.rule.name, each.ids, each.reason))


def _crowded(active: Sequence[Decision]) -> Iterable[Violation]:
    """Yield a violation if more than one decision is active on a target."""
    if len(active) > 1:
        ids = tuple(sorted(decision.id for decision in active))
        yield Violation(
            Rule.ONE_ACTIVE,
            ids,
            "{count} are active on {targets}",
            count=len(ids),
            targets=_spellings(active),
        )


def _spellings(decisions: Sequence[Decision]) -> str:
    """Return the spellings of the target that these decisions share, in the order in which they were used."""
    by_age = sorted(decisions, key=lambda each: (each.created_at, each.id))
    return ", ".join(dict.fromkeys(repr(each.target) for each in by_age))


def _unmirrored(decision: Decision, find: Lookup) -> Iterable[Violation]:
    """Yield the links of a decision that the linked decision does not have, has for another target, or that are doubled."""
    for ours, theirs in (("supersedes", "superseded_by"), ("superseded_by", "supersedes")):
        named: tuple[str, ...] = getattr(decision, ours)
        for id in named:
            other, ids = find(id), (decision.id, id)
            if other is None:
                yield Violation(
                    Rule.MIRRORED, ids, "its {field} names one that is not there", field=ours
                )
            elif decision.id not in getattr(other, theirs):
                yield Violation(Rule.MIRRORED, ids, "its {field} is not answered", field=ours)
            elif scoped_target(other) != scoped_target(decision):
                yield Violation(Rule.SAME_SEAT, tuple(sorted(ids)), "they have different targets")
        if len(set(named)) < len(named):
            yield Violation(
                Rule.MIRRORED, (decision.id,), "its {field} names one twice", field=ours
            )


def _badly_ended(decision: Decision) -> Iterable[Violation]:
    """Yield a violation if a decision is superseded by nothing, or has successors in another status."""
    is_superseded = decision.status is DecisionStatus.SUPERSEDED
    if is_superseded and not decision.superseded_by:
        yield Violation(Rule.ENDED, (decision.id,), "it is superseded, by nothing")
    if not is_superseded and decision.superseded_by:
        yield Violation(
            Rule.ENDED, (decision.id,), "it is {status} and superseded", status=decision.status
        )


def _cycle(start: Decision, find: Lookup, followed: set[str]) -> Iterable[Violation]:
    """Follow a chain to its end and yield its cycles; adds the decisions on it to `followed` and skips those there."""
    path: list[str] = []
    on_path: set[str] = set()
    # Each step is either to go on to a decision or, with None, to leave the latest one.
    steps: list[str | None] = [start.id]
    while steps:
        id = steps.pop()
        if id is None:
            left = path.pop()
            on_path.discard(left)
            followed.add(left)
        elif id in on_path:
            ids = tuple(sorted(path[path.index(id) :]))
            yield Violation(Rule.NO_CYCLE, ids, "each is superseded by the next")
        elif id not in followed and (decision := find(id)) is not None:
            path.append(id)
            on_path.add(id)
            steps.append(None)
            steps.extend(decision.superseded_by)


# What holds of an act


def violations_between(before: Decision | None, after: Decision | None) -> list[Violation]:
    """Find the forbidden changes of one commit to one decision; None where it is not there."""
    if before is None:
        return []
    if after is None:
        return [Violation(Rule.KEPT, (before.id,), "it was removed")]
    ids = (before.id,)
    found = [
        Violation(Rule.FIXED, ids, "its {name} was changed", name=name)
        for name in IMMUTABLE_FIELDS
        if getattr(before, name) != getattr(after, name)
    ]
    if before.status not in (DecisionStatus.ACTIVE, after.status):
        found.append(
            Violation(
                Rule.FORWARD,
                ids,
                "{status} became {after}",
                status=before.status,
                after=after.status,
            )
        )
    if not set(before.superseded_by) <= set(after.superseded_by):
        found.append(Violation(Rule.FORWARD, ids, "what superseded it was changed"))
    return found


# Truth


def active_successors(start: Decision, find: Lookup) -> tuple[Decision, ...]:
    """Return the active decisions at the end of a chain, by id.

    One in a sound ledger, or none where the last was withdrawn. Several where colleagues superseded
    it on two branches and nobody has yet superseded both. It ends on any data.
    """
    seen: dict[str, Decision] = {}
    waiting = [start]
    while waiting:
        decision = waiting.pop()
        if decision.id not in seen:
            seen[decision.id] = decision
            found = [find(id) for id in decision.superseded_by]
            waiting += [each for each in found if each is not None]
    active = [each for each in seen.values() if each.status is DecisionStatus.ACTIVE]
    return tuple(sorted(active, key=lambda each: each.id))


# Who may


def check_may_record(caller: Caller, active: Sequence[Decision]) -> None:
    """Raise Forbidden to a viewer, Decided if a decision is active on the target."""
    check_not_viewer(caller, "record")
    if active:
        first, *others = sorted(active, key=lambda each: each.id)
        reason = Reason("a decision is active on this target; supersede it")
        if others:
            more = ", ".join(each.id for each in others)
            reason = Reason(
                "so are {more}, on {targets}; a person supersedes all with one",
                more=more,
                targets=_spellings(active),
            )
        raise Decided(first.id, reason, first.target)


def check_may_supersede(
    caller: Caller, key: TargetKey, old: Sequence[Decision], active: Sequence[Decision]
) -> None:
    """Raise Conflict unless `old` are all `active` decisions on the target `key`, and no others.

    Raises Forbidden if an agent would supersede a person's decision or several at once, ScopeViolation
    if the caller may not write to the target's scope.
    """
    check_may_write_to(caller, "supersede", key)
    if not old:
        raise Conflict(key.target_key, "name the decision that is superseded")
    for each in old:
        if scoped_target(each) != key:
            raise Conflict(each.id, why_not_replaceable(each, key))
        if each.status is not DecisionStatus.ACTIVE:
            later = ", ".join(each.superseded_by)
            if later:
                raise Conflict(
                    each.id, "it is {status} by {later}", status=each.status, later=later
                )
            raise Conflict(each.id, "it is {status}", status=each.status)
    named = {each.id for each in old}
    for each in sorted(active, key=lambda each: each.id):
        if each.id not in named:
            reason = "it is active on this target as well ({target!r}); supersede it too"
            raise Conflict(each.id, reason, target=each.target)
    if authorship_of(caller) is Authorship.AGENT:
        if len(named) > 1:
            reason = "{count} are active on one target ({targets}); a person chooses"
            raise Forbidden("supersede", reason, count=len(named), targets=_spellings(old))
        for each in old:
            if each.authorship is Authorship.HUMAN:
                reason = "{id} was decided by a person; a person may"
                raise Forbidden("supersede", reason, needs=Role.HUMAN, id=each.id)


def check_may_overrule(caller: Caller, accepted: Sequence[Decision]) -> None:
    """Raise Forbidden to an agent if there is a decision that a person here accepted."""
    if accepted and authorship_of(caller) is Authorship.AGENT:
        reason = "{id} was accepted by a person; a person may"
        raise Forbidden("supersede", reason, needs=Role.HUMAN, id=accepted[0].id)


def check_may_decline(caller: Caller) -> None:
    """Raise Forbidden to all but an admin: they alone decline proposals."""
    if caller.role is not Role.ADMIN:
        reason = "the role {role} may not decline; an admin may"
        raise Forbidden("decline", reason, needs=Role.ADMIN, role=caller.role)


def check_is_pending(proposal: Proposal) -> None:
    """Raise Conflict if the proposal was settled before."""
    if proposal.status is not ProposalStatus.PENDING:
        reason = Reason("it was {status} already", status=proposal.status)
        if proposal.decision:
            reason = Reason(
                "it was {status} already as {id}", status=proposal.status, id=proposal.decision
            )
        raise Conflict(proposal.id, reason)


def check_is_declined(proposal: Proposal) -> None:
    """Raise Conflict if the proposal was not declined."""
    if proposal.status is not ProposalStatus.DECLINED:
        raise Conflict(proposal.id, "it is {status}, not declined", status=proposal.status)


def check_review_is_over(proposal: Proposal, now: datetime, window: timedelta) -> None:
    """Raise UnderReview if the proposal is still inside its review window."""
    opens = proposal.created_at + window
    if now < opens:
        raise UnderReview("accept", Reason("its review is not over"), proposal.id, opens)


# What an act makes


def superseding(decision: Decision, old: Sequence[Decision]) -> list[Decision]:
    """Put a new decision in place of others; return it first, then each of the others as it is now."""
    ids = {each.id for each in old}
    replaced = [
        replace(
            each,
            status=DecisionStatus.SUPERSEDED,
            superseded_by=tuple(sorted({*each.superseded_by, decision.id})),
        )
        for each in old
    ]
    return [replace(decision, supersedes=tuple(sorted(ids))), *replaced]
