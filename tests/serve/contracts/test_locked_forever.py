"""A machine of calls: whatever whoever is no steward does, through whichever door, a lock holds."""

from contextlib import ExitStack, suppress
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
    precondition,
    rule,
)

from minutebook.memory.knowledge.supersession import SUPERSEDES
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.policy import Policy
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Kind,
    Memory,
    MemoryType,
    Record,
    Role,
    ScopeLevel,
    Version,
)
from minutebook.record.writing.drafts import Draft
from tests.examples import examples
from tests.features.governance.contract.governed import ACME, INTENTS, ONE, OTHER, TWO
from tests.serve.contracts.fitting import NAMES_A_MEMORY, fitting
from tests.serve.contracts.requirements import requirement
from tests.serve.contracts.wrong import OPENED
from tests.world import everything, worlds

TOOLS = [
    (contract.name, tool.name)
    for contract in OPENED.values()
    for tool in contract.tools.values()
    if tool.is_listed
    # What reads files of this machine, or forgets what is in a project, is no door to a memory.
    and not {"path", "project_id", "file"} & set(tool.promise["inputSchema"]["properties"])
    # Nor is what governs the database, and the invariants read the store.
    and tool.promise.get("needsStore", True)
]
CHANGING = [
    (contract, tool)
    for contract, tool in TOOLS
    if not OPENED[contract].tools[tool].promise["annotations"]["readOnlyHint"]
    and any(
        name in OPENED[contract].tools[tool].promise["inputSchema"]["properties"]
        for name in (*NAMES_A_MEMORY, "items")
    )
]
STEWARD = Caller(name="vera", role=Role.MANAGER, writes_system=True)
PLACES = [
    (ScopeLevel.REPOSITORY, ONE),
    (ScopeLevel.REPOSITORY, TWO),
    (ScopeLevel.ORGANIZATION, None),
    (ScopeLevel.USER, None),
    (ScopeLevel.SYSTEM, None),
]
others = st.builds(
    Caller,
    name=st.sampled_from(["agent", "claude", "vera"]),
    role=st.sampled_from([Role.AGENT, Role.HUMAN, Role.HUMAN, Role.VIEWER]),
    organization=st.sampled_from([ACME, None, None, OTHER]),
    repositories=st.sampled_from([None, None, frozenset({ONE}), frozenset({ONE, TWO})]),
    user=st.sampled_from([None, None, "ana"]),
)


class Doors(RuleBasedStateMachine):
    """Memories of every scope, some locked by a steward, and anybody else at every door."""

    memories = Bundle("memories")
    locked = Bundle("locked")

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.as_locked: dict[str, tuple[list[Record], set[str]]] = {}

    def teardown(self) -> None:
        self.stack.close()

    @initialize(target=memories, rules=st.sampled_from(Policy))
    def open_the_store(self, rules: Policy) -> Any:
        home = self.stack.enter_context(TemporaryDirectory())
        open_one = self.stack.enter_context(worlds(Path(home)))
        self.world = open_one(policy=rules)
        return multiple(*(self._remember(scope, repository) for scope, repository in PLACES))

    def _remember(self, scope: ScopeLevel, repository: str | None) -> str:
        caller = Caller(name="claude", role=Role.ADMIN, organization=ACME, writes_system=True)
        draft = Draft(
            content="the boiler needs oil",
            type=MemoryType.FACT,
            scope=scope,
            repository=repository,
            user="ana" if scope is ScopeLevel.USER else None,
        )
        return self.world.app.memories.store(caller, draft).id

    @rule(target=memories, place=st.sampled_from(PLACES))
    def remember(self, place: tuple[ScopeLevel, str | None]) -> str:
        return self._remember(*place)

    @rule(one=memories, another=memories)
    def supersede(self, one: str, another: str) -> None:
        with suppress(MinutebookError):
            self.world.app.memories.invalidate(STEWARD, one, None, another)

    @rule(target=locked, id=memories)
    def lock(self, id: str) -> Any:
        organization = self._where(id)
        memory = organization and self.world.store.get(Memory, organization, id)
        if not isinstance(memory, Memory) or memory.locked_by or memory.deleted_at is not None:
            return multiple()
        self.world.app.status.lock(STEWARD, id)
        self.as_locked[id] = (self._kept_of(id), self._links_of(id))
        return id

    @rule(id=consumes(locked))
    def unlock(self, id: str) -> None:
        if self.as_locked.pop(id, None) is not None:
            self.world.app.status.unlock(STEWARD, id)

    @rule(data=st.data(), caller=others, one=locked, another=memories)
    def change(self, data: st.DataObject, caller: Caller, one: str, another: str) -> None:
        self._call(data, caller, data.draw(st.sampled_from(CHANGING)), one, another)

    @rule(data=st.data(), caller=others, one=locked, another=memories)
    def change_again(self, data: st.DataObject, caller: Caller, one: str, another: str) -> None:
        self._call(data, caller, data.draw(st.sampled_from(CHANGING)), one, another)

    @rule(data=st.data(), caller=others, one=locked, another=memories)
    def call(self, data: st.DataObject, caller: Caller, one: str, another: str) -> None:
        tool = data.draw(st.sampled_from(TOOLS))
        self._call(data, caller, tool, one, another)

    def _call(
        self, data: st.DataObject, caller: Caller, tool: tuple[str, str], one: str, another: str
    ) -> None:
        self.world.clock.turn()
        ids = [one, self._memory(one).uuid, another]
        arguments = data.draw(_arguments(tool, ids, caller.name))
        OPENED[tool[0]].call(self.world.app, caller, tool[1], arguments)

    @rule(caller=others, id=locked)
    def remove_what_took_its_place(self, caller: Caller, id: str) -> None:
        successor = self._memory(id).superseded_by
        if successor is not None:
            arguments = {"id": successor}
            OPENED["knowledge"].call(self.world.app, caller, "delete_memory", arguments)
            OPENED["catalog"].call(self.world.app, caller, "memory-delete", arguments)

    @precondition(lambda self: len(self.as_locked) > 2)
    @rule(caller=others)
    def reset(self, caller: Caller) -> None:
        OPENED["knowledge"].call(self.world.app, caller, "reset_all_memory", {"confirm": True})

    @invariant()
    def what_is_locked_is_as_it_was(self) -> None:
        for id, (kept, links) in self.as_locked.items():
            assert self._kept_of(id) == kept
            # A link goes with the memory at its other end; none comes.
            assert self._links_of(id) <= links

    def _where(self, id: str) -> str:
        store = self.world.store
        there = (each for each in (ACME, SYSTEM_ORGANIZATION) if store.get(Memory, each, id))
        return next(there, "")

    def _memory(self, id: str) -> Memory:
        memory = self.world.store.get(Memory, self._where(id), id)
        assert isinstance(memory, Memory), f"{id} is gone"
        return memory

    def _kept_of(self, id: str) -> list[Record]:
        memory = self._memory(id)
        here = everything(memory.organization)
        versions = self.world.store.find(Version, here, order=["id"])
        return [memory, *(v for v in versions if isinstance(v, Version) and v.memory == id)]

    def _links_of(self, id: str) -> set[str]:
        """The links of a memory, but for those that say what it took the place of."""
        edges = self.world.edges(id, Kind.LINK, self._where(id))
        return {edge.id for edge in edges if edge.type != SUPERSEDES}


def _arguments(
    tool: tuple[str, str], ids: list[str], name: str
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw arguments of a tool that concern some memories, and a fitting context if it needs one."""
    promise = OPENED[tool[0]].tools[tool[1]].promise
    published = promise["inputSchema"]
    drawn = {
        key: fitting(told, key, ids)
        for key, told in {**published["properties"], **promise.get("hiddenProperties", {})}.items()
    }
    for scope in ("organization", "repository"):
        if scope in drawn:
            drawn[scope] = st.just(ACME) if scope == "organization" else st.sampled_from([ONE, TWO])
    if "context" in drawn:
        drawn["context"] = st.fixed_dictionaries(
            {
                "agent_id": st.just(name if name != "agent" else "claude"),
                "organization_id": st.just(ACME),
                "repository_id": st.sampled_from([ONE, TWO]),
                "intent": st.just(INTENTS[tool[1]]),
                "request_id": st.just("r1"),
            }
        )
    # One more of what names a memory, so that most calls concern one.
    named = {key for key in drawn if key in ("id", "memory_id", "items")}
    required = {key: drawn.pop(key) for key in {*published.get("required", []), *named}}
    return st.fixed_dictionaries(required, optional=drawn)


@requirement("policy/locked", "common/locked-for-all", "governance/memory.lock/immutable")
class TestDoors(Doors.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=examples(50), stateful_step_count=50, deadline=None)


def test_the_machine_comes_to_every_door_that_changes_a_memory() -> None:
    assert {name for _, name in CHANGING} == {
        "update_memory",
        "delete_memory",
        "invalidate",
        "memory-write",
        "memory-update",
        "memory-delete",
        "memory-link",
        "memory-batch-write",
        "memory.deprecate",
        "memory.lock",
    }
