"""A machine of calls: whoever decides what, the ledger stays sound and old words lead to what holds."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from minutebook.features.ledger.lineage import active_successors
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.records import Decision, DecisionStatus, Role
from minutebook.record.writing.decision_drafts import IMMUTABLE_FIELDS
from minutebook.record.writing.targets import target_key
from tests.examples import examples
from tests.features.ledger.contract.ledgered import CONTRACT, SECRET, WHY, Client
from tests.serve.contracts.requirements import requirement
from tests.world import worlds

TARGETS = st.sampled_from(["API Auth", "api auth", "api-auth", "API  Auth", "cache", "Cache"])
AGENTS = st.sampled_from(["claude", "codex"])
PEOPLE = st.sampled_from([(Role.AGENT, "claude"), (Role.AGENT, "codex"), (Role.HUMAN, "ana")])
Person = tuple[Role, str]


class LockedLedger(RuleBasedStateMachine):
    """Two targets, each spelled in several ways, two agents, a person and an admin."""

    decisions = Bundle("decisions")
    proposals = Bundle("proposals")

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.first: dict[str, Decision] = {}
        self.truth: dict[str, str] = {}
        self.by_people: set[str] = set()

    def teardown(self) -> None:
        self.stack.close()

    @initialize()
    def open_the_store(self) -> None:
        home = self.stack.enter_context(TemporaryDirectory())
        open_one = self.stack.enter_context(worlds(Path(home)))
        options = {"agent_memory_secret": SECRET, "review_window": 10.0}
        self.admin = Client(open_one(role=Role.ADMIN, agent="vera", **options))

    def _ask(self, who: Person, tool: str, **arguments: Any) -> dict[str, Any] | int:
        """Call a tool; what it answers, or the code of the error."""
        world = self.admin.of(*who).world
        world.clock.turn()
        answer = CONTRACT.call(world.app, world.caller, tool, arguments)
        if answer.error is not None:
            assert answer.error.code is not None
            return answer.error.code
        assert answer.content is not None
        return dict(answer.content)

    def _done(self, id: str, who: Person) -> str:
        decision = self.admin.decision(id)
        self.first[id] = decision
        self.truth[target_key(decision.target)] = id
        if who[0] is not Role.AGENT:
            self.by_people.add(id)
        return id

    @rule(target=decisions, who=PEOPLE, about=TARGETS)
    def record(self, who: Person, about: str) -> Any:
        told = {"target": about, "title": f"Tea {len(self.first)}", "rationale": WHY}
        answer = self._ask(who, "record_decision", **told)
        if target_key(about) in self.truth:
            assert answer == -32000
            return multiple()
        assert isinstance(answer, dict)
        return self._done(answer["decision_id"], who)

    @rule(target=decisions, who=PEOPLE, about=TARGETS, old=st.lists(decisions, max_size=2))
    def supersede(self, who: Person, about: str, old: list[str]) -> Any:
        standing = self.truth.get(target_key(about))
        named = [standing] if standing is not None and not old else old
        told = {"target": about, "title": f"Tea {len(self.first)}", "rationale": WHY}
        answer = self._ask(who, "supersede_decision", old_decision_ids=named, **told)
        if not named:
            assert answer == -32602
        elif set(named) != {standing}:
            assert answer == -32000
        elif who[0] is Role.AGENT and standing in self.by_people:
            assert answer == 403
        else:
            assert isinstance(answer, dict)
            return self._done(answer["decision_id"], who)
        return multiple()

    @rule(target=proposals, who=AGENTS, about=TARGETS)
    def propose(self, who: str, about: str) -> str:
        told = {"target": about, "title": "Tea", "rationale": WHY}
        answer = self._ask((Role.AGENT, who), "propose_decision", **told)
        assert isinstance(answer, dict)
        id: str = answer["proposal_id"]
        return id

    @rule(target=decisions, proposal=consumes(proposals))
    def accept(self, proposal: str) -> str:
        self.admin.world.clock.turn(10)
        answer = self._ask((Role.ADMIN, "vera"), "accept_proposal", proposal_id=proposal)
        assert isinstance(answer, dict)
        assert self._ask((Role.ADMIN, "vera"), "accept_proposal", proposal_id=proposal) == -32000
        kept = self.admin.proposal(proposal).decision
        assert kept is not None
        return self._done(kept, (Role.ADMIN, "vera"))

    @invariant()
    def the_ledger_is_sound(self) -> None:
        if self.first:
            assert self.admin.world.app.get(Ledgers).check() == []

    @invariant()
    def what_was_decided_is_as_it_was(self) -> None:
        for id, first in self.first.items():
            now = self.admin.decision(id)
            assert [getattr(now, name) for name in IMMUTABLE_FIELDS] == [
                getattr(first, name) for name in IMMUTABLE_FIELDS
            ]

    @invariant()
    def a_target_is_shown_as_it_was_spelled_first(self) -> None:
        shown: dict[str, str] = {}
        for id in self.first:
            target = self.admin.decision(id).target
            assert shown.setdefault(target_key(target), target) == target

    @invariant()
    def every_chain_ends_in_the_one_decision_that_holds(self) -> None:
        kept = {id: self.admin.decision(id) for id in self.first}
        active = [each for each in kept.values() if each.status is DecisionStatus.ACTIVE]
        assert {target_key(each.target): each.id for each in active} == self.truth
        assert len(active) == len(self.truth)
        for each in kept.values():
            assert [end.id for end in active_successors(each, kept.get)] == [
                self.truth[target_key(each.target)]
            ]
            assert all(each.id in kept[old].superseded_by for old in each.supersedes)
            assert all(each.id in kept[new].supersedes for new in each.superseded_by)

    @rule()
    def search(self) -> None:
        assert set(self.admin.ids("tea")) == set(self.truth.values())


@requirement(
    "ledger/invariants/one-active",
    "ledger/invariants/spelling",
    "ledger/invariants/immutable",
    "ledger/invariants/mirrored",
    "ledger/invariants/no-cycles",
    "ledger/invariants/ends",
)
class TestDeciding(LockedLedger.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=examples(20), stateful_step_count=25, deadline=None)
