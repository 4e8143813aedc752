"""Decide, replace what was decided, propose, accept: one commit and one transaction an act."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from minutebook.domain import lineage
from minutebook.domain.errors import InvalidInput
from minutebook.domain.filters import home_of, repository_of
from minutebook.domain.ids import RandomBits, decision_id, proposal_id
from minutebook.domain.policy import Caller
from minutebook.domain.records import (
    Decision,
    DecisionStatus,
    Kind,
    Proposal,
    ProposalStatus,
)
from minutebook.ledger.markdown import check_can_be_written
from minutebook.ledger.repository import Act
from minutebook.services.following import Following
from minutebook.services.reach import Clock, read_decision, read_proposal
from minutebook.services.trail import Trail
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store

REVIEW_WINDOW = timedelta(hours=1)
"""How long a proposal is looked at before it may be accepted, where no setting says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDraft:
    """What a caller says of a decision that is to be made."""

    title: str
    target: str
    rationale: str
    consequences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Made:
    """What an act comes to: the new decision, and what it replaces as that is now."""

    new: Decision
    replaced: Sequence[Decision]


class Decisions:
    """The use cases around decisions."""

    def __init__(
        self,
        store: Store,
        following: Following,
        embedded: Embedded,
        trail: Trail,
        clock: Clock,
        randbits: RandomBits,
        review_window: timedelta = REVIEW_WINDOW,
    ) -> None:
        self._store = store
        self._following = following
        self._embedded = embedded
        self._trail = trail
        self._clock = clock
        self._randbits = randbits
        self._review_window = review_window

    def record(self, caller: Caller, draft: DecisionDraft) -> Decision:
        """Decide what nobody decided yet; Decided where someone did. Raises LedgerError."""
        new = self._drafted(caller, draft)

        def make() -> _Made:
            lineage.check_may_record(caller, self._following.active_on(lineage.seat_of(new)))
            return _Made(new, ())

        return self._perform(caller, "record", new, make)

    def supersede(self, caller: Caller, old_ids: Sequence[str], draft: DecisionDraft) -> Decision:
        """Put a decision in the place of all that are active on its target.

        Raises NotFound, Conflict, Forbidden, LedgerError.
        """
        new = self._drafted(caller, draft)
        seat = lineage.seat_of(new)

        def make() -> _Made:
            old = [read_decision(self._store, caller, id) for id in dict.fromkeys(old_ids)]
            active = self._following.active_on(seat)
            lineage.check_may_supersede(caller, seat, old, active)
            taking, replaced = lineage.superseding(new, old)
            return _Made(taking, tuple(replaced.values()))

        return self._perform(caller, "supersede", new, make)

    def withdraw(self, caller: Caller, id: str) -> Decision:
        """Take a decision back without another in its place; NotFound, Conflict, Forbidden."""
        old = read_decision(self._store, caller, id)

        def make() -> _Made:
            standing = read_decision(self._store, caller, id)
            lineage.check_may_supersede(caller, lineage.seat_of(old), [standing], [standing])
            return _Made(replace(standing, status=DecisionStatus.WITHDRAWN), ())

        return self._perform(caller, "withdraw", old, make)

    def propose(
        self, caller: Caller, draft: DecisionDraft, supersedes: Sequence[str] = ()
    ) -> Proposal:
        """Keep a proposal for an admin to accept; NotFound for what it means to supersede."""
        named = [read_decision(self._store, caller, id) for id in dict.fromkeys(supersedes)]
        drafted = self._drafted(caller, draft)
        proposal = Proposal(
            organization=drafted.organization,
            id=proposal_id(drafted.created_at, self._randbits),
            target=draft.target,
            title=draft.title,
            rationale=draft.rationale,
            status=ProposalStatus.PENDING,
            author=caller.name,
            created_at=drafted.created_at,
            consequences=draft.consequences,
            supersedes=tuple(each.id for each in named),
            repository=drafted.repository,
            user=drafted.user,
        )
        said = (caller, proposal.organization, "propose", Kind.PROPOSAL, proposal.id)
        with self._trail.guard(*said):
            lineage.check_may_propose(caller)
        for each in named:
            if lineage.seat_of(each) != lineage.seat_of(proposal):
                raise InvalidInput("supersedes", f"must be on the same target, not {each.target!r}")
        vectors = self._embedded.passage(proposal.text)
        with self._trail.act(*said) as deed:
            self._store.put(proposal)
            self._embedded.keep(proposal, vectors)
            deed.changes(None, proposal.text)
        return proposal

    def accept(self, caller: Caller, id: str) -> Decision:
        """Promote a proposal to truth, in the place of what stood on its target.

        The decision is the admin's, with the proposal named. Raises NotFound, Forbidden,
        UnderReview, Conflict, LedgerError.
        """
        proposal = read_proposal(self._store, caller, id)
        said = (caller, proposal.organization, "accept", Kind.PROPOSAL, id)
        with self._trail.guard(*said):
            self._check_may_accept(caller, proposal)
        now, seat = self._clock(), lineage.seat_of(proposal)
        new = Decision(
            organization=proposal.organization,
            id=decision_id(now, self._randbits),
            target=proposal.target,
            title=proposal.title,
            rationale=proposal.rationale,
            status=DecisionStatus.ACTIVE,
            authorship=lineage.authorship_of(caller),
            author=caller.name,
            created_at=now,
            consequences=proposal.consequences,
            proposal=proposal.id,
            repository=proposal.repository,
            user=proposal.user,
        )

        def make() -> _Made:
            self._check_may_accept(caller, read_proposal(self._store, caller, id))
            taking, replaced = lineage.superseding(new, self._following.active_on(seat))
            return _Made(taking, tuple(replaced.values()))

        return self._perform(caller, "accept", new, make)

    def _check_may_accept(self, caller: Caller, proposal: Proposal) -> None:
        lineage.check_may_accept(caller)
        lineage.check_is_pending(proposal)
        lineage.check_review_is_over(proposal, self._clock(), self._review_window)

    def _perform(
        self, caller: Caller, what: str, new: Decision, make: Callable[[], _Made]
    ) -> Decision:
        """Commit an act, then keep it, in one transaction of the store.

        The order heals itself: Git is written before the transaction ends, so what a kill leaves in
        Git alone is followed later, and nothing is ever in the tables alone.
        """
        organization = new.organization
        said = (caller, organization, what, Kind.DECISION, new.id)
        check_can_be_written(new)
        self._following.follow(organization)
        with self._trail.guard(*said):
            make()
        vectors = self._embedded.passage(new.text)
        ledger = self._following.ledger_of(organization)

        def decide(head: str | None) -> Act:
            if head is not None:
                self._following.follow(organization, head)
            made = make()
            return Act(
                id=f"{what}.{new.id}",
                what=f"{what.capitalize()}: {new.title}",
                author=caller.name,
                authorship=lineage.authorship_of(caller),
                at=self._clock(),
                decisions=(made.new, *made.replaced),
            )

        with self._trail.act(*said) as deed:
            done = ledger.perform(decide)
            self._following.take(done.decisions)
            self._following.note(organization, done.id)
            self._embedded.keep(done.decisions[0], vectors)
            deed.changes(None, new.text)
        return done.decisions[0]

    def _drafted(self, caller: Caller, draft: DecisionDraft) -> Decision:
        now = self._clock()
        return Decision(
            organization=home_of(caller),
            id=decision_id(now, self._randbits),
            target=draft.target,
            title=draft.title,
            rationale=draft.rationale,
            status=DecisionStatus.ACTIVE,
            authorship=lineage.authorship_of(caller),
            author=caller.name,
            created_at=now,
            consequences=draft.consequences,
            repository=repository_of(caller),
            user=caller.user,
        )
