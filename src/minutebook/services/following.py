"""The tables follow the ledger: what Git has and they lack is taken in, or refused with the reason."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from minutebook.domain.errors import Forbidden, LedgerBroken
from minutebook.domain.filters import Filter
from minutebook.domain.lineage import (
    Lookup,
    Rule,
    Seat,
    Violation,
    authorship_of,
    violations,
    violations_near,
)
from minutebook.domain.policy import Caller
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
from minutebook.ledger.history import News, news
from minutebook.ledger.repository import Repository
from minutebook.services.reach import Clock
from minutebook.services.trail import Trail
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store

Ledgers = Callable[[str], Repository]
"""Gives the ledger of an organization."""

_MARK = "ledger"
_FOLLOWER = Caller(name="minutebook", role=Role.AGENT)
_REMEDY = "look at the ledger's history; `minutebook ledger rebuild` takes it as it is now"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild found: decisions taken, those that only the tables had, broken rules."""

    decisions: int
    lost: tuple[str, ...]
    violations: tuple[Violation, ...]


class Following:
    """Keeps the tables of decisions at the head of each organization's ledger."""

    def __init__(
        self, store: Store, embedded: Embedded, trail: Trail, ledgers: Ledgers, clock: Clock
    ) -> None:
        self._store = store
        self._embedded = embedded
        self._trail = trail
        self._ledgers = ledgers
        self._clock = clock

    def ledger_of(self, organization: str) -> Repository:
        """Give the ledger of an organization."""
        return self._ledgers(organization)

    def start(self, organization: str) -> None:
        """Finish what a kill cut short, then follow; LedgerError."""
        self._ledgers(organization).heal()
        self.follow(organization)

    def follow(self, organization: str, head: str | None = None) -> int:
        """Bring the tables to the ledger's head, or the commit given; tell how many changed.

        Looks only at what came since the last time. Raises LedgerBroken, and takes nothing in, where
        that breaks a rule; two active decisions on a target are taken in, for a person to settle.
        """
        since = self._mark(organization)
        told = news(self._ledgers(organization), since, head)
        if told.head is None or told.head == since:
            return 0
        self._check_sound(organization, told)
        with self._trail.act(_FOLLOWER, organization, "follow", Kind.LEDGER, told.head) as deed:
            if not told.decisions:
                deed.changes_nothing()
            self.take(told.decisions)
            self.note(organization, told.head)
        self._embedded.want()
        return len(told.decisions)

    def take(self, decisions: Sequence[Decision]) -> None:
        """Keep decisions as the ledger has them, and settle the proposals that became them."""
        for each in decisions:
            self._store.put(each)
            if each.proposal is not None:
                proposal = self._store.get(Kind.PROPOSAL, each.organization, each.proposal)
                if isinstance(proposal, Proposal) and proposal.status is ProposalStatus.PENDING:
                    self._store.put(
                        replace(
                            proposal,
                            status=ProposalStatus.ACCEPTED,
                            settled_at=each.created_at,
                            settled_by=each.author,
                            decision=each.id,
                        )
                    )

    def note(self, organization: str, commit: str) -> None:
        """Note the commit up to which the tables hold everything."""
        self._store.put(
            LedgerMark(
                organization=organization, id=_MARK, commit_id=commit, verified_at=self._clock()
            )
        )

    def rebuild(self, caller: Caller, organization: str) -> Rebuilt:
        """Make the tables anew from the ledger as it is now, whatever its history did.

        A person's act: it accepts what `follow` refuses. Raises Forbidden, and LedgerBroken where
        the decisions contradict one another now.
        """
        if authorship_of(caller) is Authorship.AGENT:
            raise Forbidden("rebuild", "a person rebuilds from the ledger, an agent does not")
        told = news(self._ledgers(organization), None)
        by_id = {each.id: each for each in told.decisions}
        here = Filter(organization=organization)
        with self._trail.act(caller, organization, "rebuild", Kind.LEDGER, told.head or ""):
            _check_chains(by_id, by_id.get)
            earlier = {each.id for each in self._store.find(Kind.DECISION, here)}
            lost = tuple(sorted(earlier - by_id.keys()))
            for id in lost:
                self._store.delete(Kind.DECISION, organization, id)
            self.take(told.decisions)
            if told.head is not None:
                self.note(organization, told.head)
        self._embedded.want()
        return Rebuilt(len(by_id), lost, told.violations)

    def check(self, organization: str) -> list[Violation]:
        """Look through the ledger's whole history, and compare what it says with the tables.

        Reads every commit: minutes for 100,000. Raises LedgerError.
        """
        told = news(self._ledgers(organization), None)
        kept = self._store.find(Kind.DECISION, Filter(organization=organization))
        said = {each.id: replace(each, commit_id=None) for each in told.decisions}
        held = {each.id: replace(each, commit_id=None) for each in cast("list[Decision]", kept)}
        differing = [id for id in sorted({*said, *held}) if said.get(id) != held.get(id)]
        return [
            *told.violations,
            *violations(told.decisions),
            *(Violation(Rule.FOLLOWED, (id,), "tables and ledger differ") for id in differing),
        ]

    def find(self, organization: str, id: str) -> Decision | None:
        """Give a decision of the tables, whoever may see it; None where there is none."""
        return cast("Decision | None", self._store.get(Kind.DECISION, organization, id))

    def active_on(self, seat: Seat) -> list[Decision]:
        """Give the active decisions on a seat."""
        where = Filter(
            organization=seat.organization,
            equal={
                "target": seat.target,
                "status": DecisionStatus.ACTIVE,
                "repository": seat.repository,
                "user": seat.user,
            },
        )
        return cast("list[Decision]", self._store.find(Kind.DECISION, where))

    def _mark(self, organization: str) -> str | None:
        mark = self._store.get(Kind.LEDGER, organization, _MARK)
        return mark.commit_id if isinstance(mark, LedgerMark) else None

    def _check_sound(self, organization: str, told: News) -> None:
        if told.violations:
            raise _broken(told.violations)
        new = {each.id: each for each in told.decisions}
        _check_chains(new, lambda each: new.get(each) or self.find(organization, each))


def _check_chains(touched: Iterable[str], find: Lookup) -> None:
    # Nobody sits anywhere: two active ones on a target are taken in, and shown as a conflict.
    if wrong := violations_near(touched, find, lambda _: ()):
        raise _broken(wrong)


def _broken(violations: Sequence[Violation]) -> LedgerBroken:
    first = violations[0]
    more = f", and {len(violations) - 1} more" if len(violations) > 1 else ""
    return LedgerBroken(f"{first.rule}: {first.ids[0]}: {first.reason}{more}", _REMEDY, first.ids)
