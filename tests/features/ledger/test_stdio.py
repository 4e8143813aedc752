"""The ledger contract as real clients meet it: the whole story, from a first decision to `git log`."""

import json
import os
import subprocess
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from minutebook.config import environment
from tests.serve.contracts.requirements import requirement
from tests.serve.stdio.speaking import parameters

SECRET = "open sesame, said the admin"
SHIPPED = json.loads(
    resources.files("minutebook").joinpath("schema/mcp_api_v1.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Desk:
    """A real client, connected to a server process of its own."""

    client: Client

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        told: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
        assert result.structured_content == told
        assert told["status"] == "success"
        return told

    async def refused(self, tool: str, **arguments: Any) -> tuple[int, Any]:
        with pytest.raises(MCPError) as refusal:
            await self.client.call_tool(tool, arguments)
        return refusal.value.error.code, refusal.value.error.data

    async def read(self, uri: str) -> Any:
        result = await self.client.read_resource(uri)
        return json.loads(result.contents[0].text)  # type: ignore[union-attr]

    async def found(self, query: str, mode: str = "balanced") -> list[str]:
        results = (await self.ask("search_decisions", query=query, mode=mode))["results"]
        return [each["id"] for each in results]


def server(home: Path, *options: str, **variables: str) -> StdioServerParameters:
    return parameters(home, "ledger", *options, **{**environment_for_server(), **variables})


def environment_for_server() -> dict[str, str]:
    """What a server needs, and nothing else of this machine's."""
    kept = ("PATH", "HOME")
    return {name: value for name, value in environment().items() if name in kept}


def git(home: Path, *arguments: str) -> str:
    (repository,) = (home / "ledgers").iterdir()
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def typed(home: Path, *arguments: str) -> str:
    """A command line's output, from a process of its own."""
    program = [sys.executable, "-m", "minutebook", *arguments, "--home", str(home)]
    done = subprocess.run(program, check=True, capture_output=True, text=True, env=os.environ)
    return done.stdout


DATABASE = {"target": "database", "title": "Keep everything in SQLite"}
BECAUSE = "One file that any process can open; nobody has to run a server."


@pytest.mark.timeout(300)
@pytest.mark.needs("models")
def test_the_whole_story_of_a_decision(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with AsyncExitStack() as stack:

            async def sit(*options: str, **variables: str) -> Desk:
                parameters = server(home, *options, **variables)
                return Desk(await stack.enter_async_context(Client(parameters)))

            # The model is the agent's, who searches: to open it takes longer than all else does.
            agent = await sit("--agent", "claude")
            without = {"MINUTEBOOK_EMBEDDER": "none"}
            person = await sit("--agent", "ana", "--role", "human", **without)
            options = ("--agent", "vera", "--role", "admin")
            without["AGENT_MEMORY_SECRET"] = SECRET
            early = await sit(*options, **without)
            late = await sit(*options, **without, MINUTEBOOK_REVIEW_WINDOW="0")

            first = (await agent.ask("record_decision", **DATABASE, rationale=BECAUSE))[
                "decision_id"
            ]
            code, data = await person.refused("record_decision", **DATABASE, rationale=BECAUSE)
            assert (code, data["ids"]) == (-32000, [first])

            new = {"target": "database", "title": "Move to PostgreSQL for the team"}
            second = (
                await person.ask(
                    "supersede_decision",
                    **new,
                    rationale="Five people write at once now.",
                    old_decision_ids=[f"{first}.md"],
                )
            )["decision_id"]
            for words in ("SQLite in one file", "nobody has to run a server"):
                assert await agent.found(words) == [second]
                assert await agent.found(words, "strict") == [second]
            assert set(await agent.found("SQLite", "audit")) == {first, second}

            hasty = {"target": "database", "title": "Try DuckDB", "rationale": "It is so fast."}
            code, data = await agent.refused(
                "supersede_decision", old_decision_ids=[second], **hasty | {"rationale": BECAUSE}
            )
            assert (code, data["ids"]) == (403, [second])
            code, data = await agent.refused("record_decision", **hasty | {"rationale": "short"})
            assert (code, data["argument"]) == (-32602, "rationale")
            proposal = (await agent.ask("propose_decision", **hasty, supersedes=[second]))[
                "proposal_id"
            ]
            # What holds shares no word with it: it is found once the agent's process gave it a vector.
            with anyio.fail_after(60):
                while await agent.found("DuckDB", "strict") != [second]:
                    await anyio.sleep(0.05)

            assert (await person.refused("accept_proposal", proposal_id=proposal))[0] == 403
            code, data = await early.refused("accept_proposal", proposal_id=proposal)
            assert (code, data["ids"]) == (-32000, [proposal])
            accepted = await late.ask("accept_proposal", proposal_id=proposal)
            (third,) = await agent.found("DuckDB", "strict")
            assert third in accepted["message"]
            assert await agent.found("SQLite in one file") == [third]

            assert (await agent.read(f"decision://{first}"))["rationale"] == BECAUSE
            chain = (await agent.read(f"decision://{third}/history"))["decisions"]
            assert [each["id"] for each in chain] == [first, second, third]
            (holds,) = (await agent.read("decision://index"))["decisions"]
            assert holds["id"] == third

            tree = typed(home, "decisions", "--history", "database").splitlines()
            assert [line.split()[-1] for line in tree] == [third, second, first]
            assert ["vera" in tree[0], "ana" in tree[1], "claude" in tree[2]] == [True] * 3
            log = git(home, "log", "--format=%an: %s").splitlines()
            assert [line.split(":")[0] for line in log] == ["vera", "ana", "claude"]
            assert "error" not in git(home, "fsck", "--strict", "--full")
            assert SECRET not in git(home, "log", "-p")

    anyio.run(story)


@requirement("ledger/published/any-client")
def test_the_shipped_schema_is_what_a_client_is_listed(tmp_path: Path) -> None:
    async def listed() -> None:
        async with Client(server(tmp_path, MINUTEBOOK_EMBEDDER="none")) as client:
            tools = (await client.list_tools()).tools
            for tool in tools:
                shipped = SHIPPED["tools"][tool.name]
                assert tool.description == shipped["description"]
                assert tool.input_schema == shipped["input_schema"]
                # What a client is listed of an output is what it always has.
                assert tool.output_schema is not None
                assert tool.output_schema["required"] == shipped["output_schema"]["required"]
            assert [tool.name for tool in tools] == list(SHIPPED["tools"])
            assert client.server_info is not None
            assert client.server_info.name == SHIPPED["info"]["name"]
            assert client.server_info.version == SHIPPED["mcp_api_version"]

    anyio.run(listed)


def test_knowledge_and_ledger_are_served_on_one_connection(tmp_path: Path) -> None:
    async def both() -> None:
        both = parameters(tmp_path, "knowledge", "ledger", MINUTEBOOK_EMBEDDER="none")
        async with Client(both) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"store_memory", "record_decision"} <= names
            desk = Desk(client)
            id = (await desk.ask("record_decision", **DATABASE, rationale=BECAUSE))["decision_id"]
            assert await desk.found("sqlite") == [id]

    anyio.run(both)
