"""Follow a ledger in Git: trusted commits go into the tables, the others wait as proposals."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from minutebook.features.ledger.keys.trust import LedgerTrust
from minutebook.features.ledger.lineage import Violation, violations_near
from minutebook.features.ledger.mirror.tables import (
    Bringer,
    DecisionTables,
    check_sound,
    without_conflicts,
)
from minutebook.features.ledger.mirror.waiting import SHOWN, believed, build_waiting, origin_of
from minutebook.memory.access.visibility import Clock
from minutebook.record.errors import Conflict
from minutebook.record.origin import tidied
from minutebook.record.records import Decision, DecisionStatus, Proposal
from minutebook.record.writing.decision_drafts import merge_decisions

if TYPE_CHECKING:
    # Git and YAML take 0.14 s to import; who has no ledger does without them.
    from minutebook.features.ledger.git.history import Commission, News
    from minutebook.features.ledger.git.repository import Repository


@dataclass(slots=True)
class GitView:
    """The decisions of a ledger as Git has them at a commit; `brought` are those that were read already."""

    tables: DecisionTables
    repository: "Repository"
    head: str
    brought: Mapping[str, Decision]
    is_behind: bool
    """Whether the tables may hold others, or other states of them, than Git."""
    _all: dict[str, Decision] | None = field(default=None)

    def find(self, id: str) -> Decision | None:
        """Return the decision with an id, or None."""
        if (found := self.brought.get(id)) is not None:
            return found
        if not self.is_behind:
            return self.tables.find(self.repository.layout.organization, id)
        if self._all is None:
            from minutebook.features.ledger.git.history import read_all
            from minutebook.features.ledger.git.trees import stamped

            read = read_all(self.repository, self.head)
            check_sound([each for each in read if isinstance(each, Violation)])
            found_all = (each for each in read if isinstance(each, Decision))
            self._all = {each.id: stamped(each, self.head) for each in found_all}
        return self._all.get(id)


class Following:
    """Brings the trusted commits of Git into the tables; call it inside a transaction.

    `owner` is the person whose repository it is, who pulled what others committed.
    """

    def __init__(
        self, tables: DecisionTables, trust: LedgerTrust, clock: Clock, owner: str
    ) -> None:
        self._tables = tables
        self._trust = trust
        self._clock = clock
        self._owner = owner

    def take_in(self, repository: "Repository", brought: "News") -> None:
        """Store the news from Git, if the whole is sound. Raises LedgerBroken if it is not."""
        if brought.head is None:
            return
        view = self.view(repository, brought.head, brought.decisions)
        ids = [each.id for each in brought.decisions]
        # How many are active on a target breaks no ledger.
        check_sound(without_conflicts(violations_near(ids, view.find, lambda _: ())))
        organization = repository.layout.organization
        states = self.believed(view, brought)
        self._tables.take_in(organization, states, partial(self.bringer, brought))
        self.let_wait(brought)

    def view(self, repository: "Repository", head: str, read: Iterable[Decision]) -> GitView:
        """Return the decisions as Git has them at a commit; `read` are those that were read already."""
        is_behind = self._tables.are_behind(repository.layout.organization)
        return GitView(self._tables, repository, head, {each.id: each for each in read}, is_behind)

    def believed(self, view: GitView, brought: "News") -> list[Decision]:
        """Return the trusted decisions from Git, and those that they superseded."""
        new = {
            each.id
            for each in brought.decisions
            if self._lacks(each)
            and (by := brought.came.get(each.id)) is not None
            and self._trust.believes(by)
            and (by.is_ours or not self._trust.is_to_come(each))
        }
        new = self._with_ancestors(view, new)
        known = {each.id for each in brought.decisions if not self._lacks(each)}
        changed = brought.changed.items()
        may_end = {id for id, by in changed if self._trust.believes(by)}
        return self._states(view, new, {*new, *known}, may_end)

    def let_wait(self, brought: "News") -> None:
        """Put as proposals the decisions from Git that the tables lack after `take_in`."""
        for each in brought.decisions:
            earlier = self._tables.find(each.organization, each.id)
            came = (brought.came if earlier is None else brought.changed).get(each.id)
            is_new = earlier is None and each.status is DecisionStatus.ACTIVE
            is_end = each.status is DecisionStatus.WITHDRAWN and not (
                earlier is None or earlier.status is each.status
            )
            if came is not None and (is_new or is_end):
                by = self._bringer(came, each)
                now = self._clock()
                self._tables.wait(build_waiting(each, came.id, tidied(came.author), now), by)

    def accept(
        self, repository: "Repository", proposal: Proposal
    ) -> tuple[Decision, list[Decision]]:
        """Return a decision that waits as it is once it is believed, and the others that this changes.

        Raises Conflict if Git does not have it any more, or its date has not come.
        """
        from minutebook.features.ledger.git.history import whole_id

        organization, id = proposal.organization, proposal.decision or ""
        head = self._tables.commit_id(organization)
        view = None if head is None else self.view(repository, head, ())
        found = None if view is None else view.find(id)
        if view is None or found is None:
            raise Conflict(proposal.id, "the ledger's branch does not have it any more")
        if self._trust.is_to_come(found):
            day = found.created_at.date().isoformat()
            raise Conflict(proposal.id, "its date, {day}, has not come; accept it then", day=day)
        new = self._with_ancestors(view, {id})
        states = {each.id: each for each in self._states(view, new, new, {id})}
        commit = whole_id(repository, "" if proposal.origin is None else proposal.origin.version)
        decision = replace(states.pop(id), commit_id=commit, origin=proposal.origin)
        earlier = self._tables.find(organization, id)
        if earlier is not None:
            decision = merge_decisions(replace(decision, origin=earlier.origin), earlier)
        return decision, list(states.values())

    def believe_waiting(self, repository: "Repository") -> None:
        """Take in every decision that waits, since everyone is believed now."""
        organization = repository.layout.organization
        for proposal in self._tables.waiting(organization):
            with suppress(Conflict):
                decision, others = self.accept(repository, proposal)
                by = Bringer(self._owner, "everyone is believed (ledger_trust)", proposal.origin)
                self._tables.take_in(organization, [decision, *others], partial(_the_same, by))

    def bringer(self, brought: "News | None", decision: Decision) -> Bringer:
        """Return the bringer of a decision from Git; the owner where Git names none."""
        by = None
        if brought is not None:
            by = brought.came.get(decision.id) or brought.changed.get(decision.id)
        return Bringer(self._owner) if by is None or by.is_ours else self._bringer(by, decision)

    def _bringer(self, by: "Commission", decision: Decision) -> Bringer:
        author = tidied(by.author)
        note = (
            f"commit {by.id[:SHOWN]} by {author}, in the name of {tidied(decision.author)} "
            f"({decision.authorship})"
        )
        if by.signer:
            note += f", signed by {tidied(by.signer)}"
        return Bringer(self._owner, note, origin_of(by.id, author))

    def _lacks(self, decision: Decision) -> bool:
        return self._tables.find(decision.organization, decision.id) is None

    def _with_ancestors(self, view: GitView, new: Collection[str]) -> set[str]:
        """Return decisions that are newly believed with those that they took the place of."""
        found, steps = set(new), list(new)
        while steps:
            decision = view.find(steps.pop())
            for id in () if decision is None else decision.supersedes:
                before = view.find(id)
                if before is not None and id not in found and self._lacks(before):
                    found.add(id)
                    steps.append(id)
        return found

    def _states(
        self, view: GitView, new: Collection[str], ids: Collection[str], may_end: Collection[str]
    ) -> list[Decision]:
        """Return decisions as far as they are believed, with all that the newly believed took the place of."""
        organization = view.repository.layout.organization
        read = {id: found for id in ids if (found := view.find(id)) is not None}
        for id in new:
            for old in read[id].supersedes if id in read else ():
                if old not in read and (found := view.find(old)) is not None:
                    read[old] = found
        states = []
        for id, each in sorted(read.items()):
            successors = each.superseded_by
            known = {
                by
                for by in successors
                if by in new or self._tables.find(organization, by) is not None
            }
            earlier = self._tables.find(organization, id)
            states.append(believed(each, known, earlier, may_end=id in may_end))
        return states


def _the_same(by: Bringer, decision: Decision) -> Bringer:
    """Return the bringer of all decisions."""
    return by
