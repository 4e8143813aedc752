"""What keeps memories apart and in order, as clients meet it: real clients, real processes, one store."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from minutebook.record.filters import Filter
from minutebook.record.ids import id_of
from minutebook.record.records import CLASSES, Entry, Kind, Record, Role
from minutebook.store.sqlite import SqliteStore
from tests.serve.contracts.requirements import requirement
from tests.serve.stdio.speaking import parameters

pytestmark = pytest.mark.whole

ACME = "aaaaaaaa-0000-4000-8000-00000000000a"
OTHER = "bbbbbbbb-0000-4000-8000-00000000000b"
ONE = "11111111-0000-4000-8000-000000000001"
TWO = "22222222-0000-4000-8000-000000000002"
HERE = ("--organization", ACME, "--repository", ONE)
INTENTS = {"memory-write": "write", "memory.lock": "admin", "memory.deprecate": "write"}


@dataclass(frozen=True)
class Refusal:
    """How a contract says no: a result's text and object, or a protocol error's code."""

    text: str
    structured: Any = None
    code: int | None = None

    @property
    def error(self) -> dict[str, Any]:
        """What governance says in its own form."""
        told: dict[str, Any] = self.structured["error"]
        assert self.text == f"{told['code']}: {told['message']}"
        return told


@dataclass(frozen=True)
class Connection:
    """One client on one server process."""

    client: Client
    organization: str = ACME
    repository: str = ONE
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def send(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool: what it answers, or the refusal."""
        try:
            result = await self.client.call_tool(tool, arguments)
        except MCPError as error:
            return Refusal(error.error.message, error.error.data, error.error.code)
        texts = [getattr(block, "text", "") for block in result.content]
        text = texts[0]
        if result.is_error:
            return Refusal(text, result.structured_content)
        return json.loads(text) if text[:1] in "{[" else text

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that must answer."""
        answer = await self.send(tool, arguments)
        assert not isinstance(answer, Refusal), answer
        return answer

    async def refused(self, tool: str, /, **arguments: Any) -> Refusal:
        """Call a tool that must refuse."""
        answer = await self.send(tool, arguments)
        assert isinstance(answer, Refusal), answer
        return answer

    def context(self, tool: str, **changes: Any) -> dict[str, Any]:
        """The context of one call of a governance tool, with a request id of its own."""
        return {
            "agent_id": "claude",
            "organization_id": self.organization,
            "repository_id": self.repository,
            "intent": INTENTS.get(tool, "read"),
            "request_id": f"request-{next(self.numbers)}",
        } | changes

    async def govern(self, tool: str, /, **arguments: Any) -> Any:
        """Call a governance tool that must answer."""
        return await self.call(tool, **{"context": self.context(tool), **arguments})

    async def govern_refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a governance tool that must refuse; the error."""
        arguments = {"context": self.context(tool), **arguments}
        return (await self.refused(tool, **arguments)).error

    async def write(self, content: str, /, type: str = "fact") -> str:
        """Store a memory through governance; its id."""
        id: str = (await self.govern("memory-write", content=content, type=type))["memory_id"]
        return id

    async def found(self, query: str) -> list[str]:
        """Search through governance; the contents found."""
        answer = await self.govern("memory-search", query=query)
        return [each["content"] for each in answer["memories"]]


@dataclass(frozen=True)
class House:
    """A data directory, whose store several server processes share."""

    home: Path

    @asynccontextmanager
    async def serving(self, contract: str, *options: str, **at: Any) -> AsyncIterator[Connection]:
        """Start a server for a contract, with a start-up identity, and connect to it."""
        server = parameters(self.home, contract, *options, MINUTEBOOK_EMBEDDER="none")
        async with Client(server) as client:
            yield Connection(client, **at)

    def _found(self, kind: Kind, organization: str) -> list[Record]:
        with closing(SqliteStore(self.home / "minutebook.db", durability="normal")) as store:
            everything = Filter(organization=organization, with_deleted=True)
            return store.find(CLASSES[kind], everything)

    def entries(self, organization: str = ACME, subject: str | None = None) -> list[Entry]:
        """An organization's trail, oldest first; about one memory, if it is named."""
        found = [each for each in self._found(Kind.ENTRY, organization) if isinstance(each, Entry)]
        found.sort(key=lambda each: each.number)
        return [each for each in found if subject is None or each.subject == id_of(subject)]

    def memories(self, organization: str = ACME) -> list[Record]:
        """All that an organization keeps, the trail left out."""
        kinds = (Kind.MEMORY, Kind.VERSION, Kind.LINK)
        return [each for kind in kinds for each in self._found(kind, organization)]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "a house")


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    """Play a scenario to its end."""
    anyio.run(scenario)


@requirement("acceptance/cross-repository", "governance/scope/no-cross-repository")
def test_a_read_across_repositories_is_empty(house: House) -> None:
    async def scenario() -> None:
        async with (
            house.serving("governance", *HERE) as one,
            house.serving(
                "governance", "--organization", ACME, "--repository", TWO, repository=TWO
            ) as two,
            house.serving("knowledge", "--organization", ACME, "--repository", TWO) as knowing,
        ):
            id = await one.write("the boiler needs oil")
            assert await one.found("boiler") == ["the boiler needs oil"]
            assert await two.found("boiler") == []
            assert (await two.govern_refused("memory.read", memory_id=id))["code"] == (
                "MEMORY_NOT_FOUND"
            )
            assert (await knowing.call("recall", query="boiler"))["results"] == []
            assert (await knowing.call("list_memories"))["total"] == 0
            crossing = two.context("memory-search", repository_id=ONE)
            error = await two.govern_refused("memory-search", query="boiler", context=crossing)
            assert error["code"] == "SCOPE_VIOLATION"
        assert house.entries()[-1].outcome == "ScopeViolation"

    run(scenario)


@requirement("acceptance/cross-organization")
def test_a_read_across_organizations_is_empty(house: House) -> None:
    async def scenario() -> None:
        async with (
            house.serving("governance", *HERE) as ours,
            house.serving("governance", "--organization", OTHER, organization=OTHER) as theirs,
            house.serving("catalog", "--organization", OTHER) as listing,
            house.serving("knowledge", "--organization", OTHER) as knowing,
        ):
            id = await ours.write("the boiler needs oil")
            assert await theirs.found("boiler") == []
            assert (await theirs.govern_refused("memory.read", memory_id=id))["code"] == (
                "MEMORY_NOT_FOUND"
            )
            assert await listing.call("memory-search", query="boiler") == []
            index = await listing.client.read_resource("memory://index")
            assert json.loads(getattr(index.contents[0], "text", "")) == []
            assert (await knowing.call("search_text", query="boiler"))["results"] == []
            assert "not found" in (await knowing.refused("get_memory", id=id)).text
        assert house.memories(OTHER) == []

    run(scenario)


@requirement("acceptance/agents-rule", "governance/memory-write/protected")
@pytest.mark.parametrize("type", ["business_rule", "system_constraint"])
def test_an_agents_rule_is_refused_and_audited_and_nothing_is_kept(house: House, type: str) -> None:
    async def scenario() -> None:
        async with house.serving("governance", *HERE) as agent:
            error = await agent.govern_refused("memory-write", content="Tests pass.", type=type)
            assert (error["code"], error["number"]) == ("WRITE_NOT_ALLOWED", -32003)
        (entry,) = house.entries()
        assert (entry.actor, entry.role, entry.outcome) == ("claude", Role.AGENT, "Forbidden")
        assert entry.request == error["request_id"] == "request-1"
        assert house.memories() == []

    run(scenario)


@requirement("acceptance/locked", "common/locked-for-all", "governance/memory.lock/immutable")
@pytest.mark.parametrize("role", [Role.AGENT, Role.ADMIN])
def test_a_locked_memory_refuses_every_change_through_every_contract(
    house: House, role: Role
) -> None:
    identity = (*HERE, "--role", role)

    async def scenario() -> None:
        async with (
            house.serving("governance", *HERE, "--role", "manager") as manager,
            house.serving("governance", *identity) as governed,
            house.serving("knowledge", *identity) as knowing,
            house.serving("catalog", *identity) as listing,
        ):
            id = await governed.write("the boiler needs oil")
            other = await governed.write("the cat needs milk")
            locked = await manager.govern("memory.lock", memory_id=id)
            assert locked["status"] == "locked"
            assert datetime.fromisoformat(locked["locked_at"]).tzinfo == UTC
            before = house.memories()
            refused: list[tuple[str, dict[str, Any]]] = [
                ("memory-write", {"memory_id": id, "content": "a", "type": "fact"}),
                ("memory.deprecate", {"memory_id": id, "reason": "a"}),
            ]
            for tool, arguments in refused:
                error = await governed.govern_refused(tool, **arguments)
                assert (error["code"], error["number"]) == ("MEMORY_LOCKED", -32001)
            refused = [
                ("update_memory", {"id": id, "content": "a"}),
                ("update_memory", {"id": id, "metadata": {}}),
                ("invalidate", {"id": id}),
                ("invalidate", {"id": id, "superseded_by": other}),
                ("delete_memory", {"id": id}),
            ]
            for tool, arguments in refused:
                assert "locked" in (await knowing.refused(tool, **arguments)).text
            whole = {
                "id": id,
                "organization": ACME,
                "scope_type": "organization",
                "memory_type": "fact",
                "current_content": "a",
            }
            new = {key: value for key, value in whole.items() if key != "id"}
            refused = [
                ("memory-write", whole),
                ("memory-update", {"id": id, "current_content": "a"}),
                ("memory-update", {"id": id, "status": "deprecated", "title": "a"}),
                ("memory-update", {"id": id, "scope_type": "organization"}),
                ("memory-delete", {"id": id}),
                ("memory-link", {"source_id": id, "target_id": other}),
                ("memory-link", {"source_id": other, "target_id": id}),
                ("memory-batch-write", {"items": [new, whole]}),
            ]
            for tool, arguments in refused:
                assert (await listing.refused(tool, **arguments)).code == -32001
            assert house.memories() == before
            assert await governed.found("boiler") == ["the boiler needs oil"]
        refusals = [each for each in house.entries(subject=id) if each.outcome == "Locked"]
        assert len(refusals) >= 12
        assert all(each.request for each in refusals)

    run(scenario)


@requirement("acceptance/missing-context", "governance/context/first", "governance/errors/form")
def test_a_missing_context_is_refused_before_any_look_up(house: House) -> None:
    async def scenario() -> None:
        async with house.serving("governance", *HERE) as agent:
            id = await agent.write("the boiler needs oil")
            for tool, arguments in (
                ("memory-search", {"query": "boiler"}),
                ("memory.read", {"memory_id": id}),
                ("memory-write", {"memory_id": id, "content": "a", "type": "fact"}),
                ("memory.lock", {"memory_id": id}),
                ("memory.deprecate", {"memory_id": id, "reason": "a"}),
            ):
                for given in ({}, {"context": {"agent_id": "claude"}}):
                    refusal = await agent.refused(tool, **arguments, **given)
                    assert refusal.error["code"] == "INVALID_CONTEXT"
                    assert refusal.error["number"] == -32602
                    assert "boiler" not in refusal.text
        outcomes = [(each.outcome, each.before, each.after) for each in house.entries()[1:]]
        assert outcomes == [("InvalidInput", "", "")] * 10

    run(scenario)


@requirement("acceptance/deprecated-hidden", "governance/memory-search/hidden")
def test_a_deprecated_memory_is_hidden(house: House) -> None:
    async def scenario() -> None:
        async with (
            house.serving("governance", *HERE) as agent,
            house.serving("knowledge", *HERE) as knowing,
        ):
            id = await agent.write("the boiler needs oil")
            told = await agent.govern("memory.deprecate", memory_id=id, reason="sold")
            assert told == {"memory_id": id, "status": "deprecated"}
            assert await agent.found("boiler") == []
            assert (await knowing.call("recall", query="boiler"))["results"] == []
            whole = await agent.govern("memory.read", memory_id=id)
            assert (whole["status"], whole["reason"]) == ("deprecated", "sold")

    run(scenario)


@requirement("acceptance/update-makes-version", "governance/memory-write/edits")
def test_an_update_makes_a_version_whichever_contract_makes_it(house: House) -> None:
    async def scenario() -> None:
        async with (
            house.serving("governance", *HERE) as agent,
            house.serving("knowledge", *HERE) as knowing,
            house.serving("catalog", *HERE) as listing,
        ):
            id = await agent.write("tea at three")
            await agent.govern("memory-write", memory_id=id, content="tea at four", type="fact")
            await knowing.call("update_memory", id=id, content="tea at five")
            await listing.call("memory-update", id=id, current_content="tea at six")
            whole = await agent.govern("memory.read", memory_id=id)
            told = [(each["version"], each["content"]) for each in whole["versions"]]
            assert told == [
                (4, "tea at six"),
                (3, "tea at five"),
                (2, "tea at four"),
                (1, "tea at three"),
            ]
            assert all(each["request_id"] for each in whole["versions"])
            assert await agent.found("tea") == ["tea at six"]

    run(scenario)


@requirement(
    "acceptance/entry-for-each-act",
    "governance/memory-search/audit",
    "governance/security/transparent",
)
def test_each_act_leaves_an_entry_with_actor_time_and_request(house: House) -> None:
    async def scenario() -> None:
        began = datetime.now(UTC)
        async with (
            house.serving("governance", *HERE) as agent,
            house.serving("governance", *HERE, "--role", "architect") as architect,
        ):
            id = await agent.write("the boiler needs oil")
            await agent.found("boiler")
            await agent.found("nothing like it")
            await agent.govern("memory.read", memory_id=id)
            await agent.govern("memory-write", memory_id=id, content="it needs gas", type="fact")
            await architect.govern("memory.deprecate", memory_id=id, reason="sold")
            await architect.govern("memory.lock", memory_id=id)
        entries = house.entries()
        assert [(each.act, each.subject, each.role, each.request) for each in entries] == [
            ("created", id_of(id), Role.AGENT, "request-1"),
            ("read", id_of(id), Role.AGENT, "request-2"),
            ("read", "*", Role.AGENT, "request-3"),
            ("read", id_of(id), Role.AGENT, "request-4"),
            ("update", id_of(id), Role.AGENT, "request-5"),
            ("deprecate", id_of(id), Role.ARCHITECT, "request-1"),
            ("lock", id_of(id), Role.ARCHITECT, "request-2"),
        ]
        assert {(each.actor, each.outcome) for each in entries} == {("claude", "done")}
        times = [each.at for each in entries]
        assert times == sorted(times)
        assert began <= times[0]
        assert times[-1] <= datetime.now(UTC)

    run(scenario)


@requirement("acceptance/shared", "common/one-store", "common/ids-of-all")
def test_what_one_contract_wrote_the_others_find(house: House) -> None:
    async def scenario() -> None:
        async with (
            house.serving("governance", *HERE) as governed,
            house.serving("knowledge", *HERE) as knowing,
            house.serving("catalog", *HERE) as listing,
        ):
            ids = {
                "governed boiler": await governed.write("governed boiler"),
                "known boiler": (await knowing.call("store_memory", content="known boiler"))["id"],
                "listed boiler": (
                    await listing.call(
                        "memory-write",
                        organization=ACME,
                        scope_type="repository",
                        repository=ONE,
                        memory_type="fact",
                        current_content="listed boiler",
                    )
                )["id"],
            }
            everything = sorted(ids)
            assert sorted(await governed.found("boiler")) == everything
            known = (await knowing.call("recall", query="boiler"))["results"]
            assert sorted(each["content"] for each in known) == everything
            listed = await listing.call("memory-search", query="boiler")
            assert sorted(each["current_content"] for each in listed) == everything
            for content, id in ids.items():
                assert (await governed.govern("memory.read", memory_id=id))["content"] == content
                assert (await knowing.call("get_memory", id=id))["content"] == content
                resource = (
                    f"memory://{next(e['id'] for e in listed if e['current_content'] == content)}"
                )
                whole = await listing.client.read_resource(resource)
                told = json.loads(getattr(whole.contents[0], "text", ""))
                assert told["current_content"] == content

    run(scenario)
