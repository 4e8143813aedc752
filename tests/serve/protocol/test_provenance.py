"""Which client wrote what: kept beside every record and audit entry, whatever way the client came."""

import json
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp_types import Implementation

from minutebook.features.catalog.contract import catalog
from minutebook.features.journal.contract import journal
from minutebook.features.ledger.contract import ledger
from minutebook.record.caller import with_call
from minutebook.record.origin import Origin
from minutebook.record.records import CLASSES, Kind
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.protocol.provenance import client_of_header
from minutebook.serve.protocol.server import build_server
from tests.world import World, everything

CURSOR = Implementation(name="cursor", version="1.2.3")
CLAUDE = Implementation(name="claude-code", version="2.0\n\x1b[31m")
REVISIONS = ["legacy", "2026-07-28"]


async def talk(
    world: World, contract: Contract, client: Implementation, mode: Any, *calls: Any
) -> list[Any]:
    """Call tools as a client of a connection in which `session` is the session."""
    caller = with_call(world.caller, session="session_1")
    server = build_server([contract], Dispatcher(lambda: world.app, lambda context: caller))
    told = []
    async with Client(server, client_info=client, mode=mode) as speaking:
        for tool, arguments in calls:
            result = await speaking.call_tool(tool, arguments)
            assert not result.is_error, result.content
            told.append(json.loads(result.content[0].text))  # type: ignore[union-attr]
    return told


def kept(world: World, kind: Kind) -> list[Any]:
    return world.store.find(CLASSES[kind], everything("default"))


@pytest.mark.parametrize("mode", REVISIONS)
def test_every_kind_of_record_and_its_audit_entry_say_which_client_wrote_it(
    world: World, mode: Any
) -> None:
    async def write() -> None:
        entity = {"entity_type": "person"}
        ana, bo = await talk(
            *(world, knowledge(), CURSOR, mode),
            ("create_entity", {"name": "Ana", **entity}),
            ("create_entity", {"name": "Bo", **entity}),
        )
        relation = {"from_entity": ana["id"], "to_entity": bo["id"], "relation_type": "knows"}
        await talk(
            *(world, knowledge(), CURSOR, mode),
            ("create_relation", relation),
            ("store_memory", {"content": "Ana bakes"}),
        )
        said = {"prompt": "bake", "thought": "", "response": "done"}
        await talk(
            world,
            journal(),
            CURSOR,
            mode,
            ("add_memory", said),
            ("summarize_sessions", {"sessionId": "session_1"}),
        )
        decision = {"title": "Bake", "target": "bread", "rationale": "Because it is good."}
        await talk(
            *(world, ledger(), CURSOR, mode),
            ("record_decision", decision),
            ("propose_decision", {**decision, "target": "rolls"}),
        )

    anyio.run(write)
    contracts = {
        Kind.MEMORY: "knowledge",
        Kind.VERSION: "knowledge",
        Kind.ENTITY: "knowledge",
        Kind.RELATION: "knowledge",
        Kind.TURN: "journal",
        Kind.SUMMARY: "journal",
        Kind.DECISION: "ledger",
        Kind.PROPOSAL: "ledger",
    }
    for kind, contract in contracts.items():
        wanted = Origin(client="cursor", version="1.2.3", contract=contract, session="session_1")
        found = kept(world, kind)
        assert found, kind
        assert [each.origin for each in found] == [wanted] * len(found), kind
    entries = kept(world, Kind.ENTRY)
    assert {each.origin.contract for each in entries} == {"knowledge", "journal", "ledger"}
    assert {each.origin.program for each in entries} == {"cursor 1.2.3"}
    assert world.app.trail.verify("default") is None


def test_a_version_says_who_wrote_it_and_the_memory_who_wrote_the_first(world: World) -> None:
    async def write() -> tuple[str, Any]:
        (made,) = await talk(
            world, knowledge(), CURSOR, "legacy", ("store_memory", {"content": "Ana bakes"})
        )
        change = {"id": made["id"], "content": "Ana bakes rye bread"}
        await talk(world, knowledge(), CLAUDE, "legacy", ("update_memory", change))
        server = build_server(
            [catalog()], Dispatcher(lambda: world.app, lambda context: world.caller)
        )
        uuid = world.app.memories.read(world.caller, made["id"]).uuid
        async with Client(server) as reading:
            read = await reading.read_resource(f"memory://{uuid}/history")
        return made["id"], json.loads(read.contents[0].text)  # type: ignore[union-attr]

    id, shown = anyio.run(write)
    memory = world.app.memories.read(world.caller, id)
    history = world.app.memories.history(world.caller, memory)
    assert memory.origin == history.versions[0].origin
    # What a client says of itself is kept as one line of plain text.
    programs = [each.origin.program for each in history.versions if each.origin is not None]
    assert programs == ["cursor 1.2.3", "claude-code 2.0 _31m"]
    assert "cursor 1.2.3" in json.dumps(shown)
    assert "claude-code 2.0" in json.dumps(shown)


def test_no_permission_depends_on_which_program_asks(world: World) -> None:
    async def write() -> None:
        (made,) = await talk(
            world, knowledge(), CURSOR, "legacy", ("store_memory", {"content": "Ana bakes"})
        )
        await talk(world, knowledge(), CLAUDE, "legacy", ("delete_memory", {"id": made["id"]}))

    anyio.run(write)
    assert kept(world, Kind.MEMORY) == []
    entry = kept(world, Kind.ENTRY)[-1]
    assert (entry.act, entry.origin.client) == ("delete", "claude-code")


@pytest.mark.parametrize(
    ("header", "client", "version"),
    [
        ("claude-code/2.1.3 (external, cli)", "claude-code", "2.1.3"),
        ("python-httpx/0.28.1", "python-httpx", "0.28.1"),
        ("curl", "curl", ""),
        ("  ", "", ""),
        (None, "", ""),
        ("(only a comment)", "", ""),
    ],
)
def test_the_first_product_of_a_user_agent_is_the_client(
    header: str | None, client: str, version: str
) -> None:
    assert client_of_header(header) == Origin(client=client, version=version)
