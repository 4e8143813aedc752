"""The skill over MCP: declared to clients of the extension, described with its digest, read as a resource."""

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types as types
import pytest
import yaml
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from minutebook.serve.contracts.announced import SKILL_FILE, SKILLS_EXTENSION
from minutebook.serve.contracts.registry import open_contracts
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.protocol.server import build_server
from minutebook.serve.protocol.skills import URI
from tests.world import World

CONTENT = Path(SKILL_FILE).read_bytes()


class Answer(BaseModel, extra="allow"):
    """Whatever a server answers to a method of the extension."""


class Asking(types.Request[dict[str, Any], Literal["skills/list", "skills/get"]]):
    """A request of a method that the SDK does not know."""


async def ask(client: Client, method: Any, **params: Any) -> dict[str, Any]:
    return (
        await client.session.send_request(Asking(method=method, params=params), Answer)
    ).model_dump()


def talk(
    world: World,
    steps: Callable[[Client], Awaitable[None]],
    *contracts: str,
    mode: Any = "auto",
    tools: tuple[str, ...] = (),
) -> None:
    dispatcher = Dispatcher(lambda: world.app, lambda context: world.caller)
    server = build_server(open_contracts(contracts, tools=tools), dispatcher)

    async def run() -> None:
        async with Client(server, mode=mode) as client:
            await steps(client)

    anyio.run(run)


def test_a_client_of_the_extension_learns_of_it_and_gets_what_it_can_verify(world: World) -> None:
    async def steps(client: Client) -> None:
        assert client.server_capabilities.extensions == {SKILLS_EXTENSION: {}}
        listed = await ask(client, "skills/list")
        (skill,) = listed["skills"]
        assert skill["frontmatter"] == yaml.safe_load(CONTENT.split(b"---\n", 2)[1])
        assert skill["uri"] == f"skill://{skill['frontmatter']['name']}/SKILL.md"
        (file,) = skill["resources"]
        got = await ask(client, "skills/get", uri=skill["uri"])
        assert got["skill"] == skill
        for each in (listed, got):
            assert (each["resultType"], each["cacheScope"]) == ("complete", "public")
            assert each["ttlMs"] > 0
        (read,) = (await client.read_resource(file["uri"])).contents
        assert isinstance(read, types.TextResourceContents)
        content = read.text.encode()
        assert file["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert (file["size"], content) == (len(CONTENT), CONTENT)

    talk(world, steps, "knowledge")


def test_what_is_no_skill_is_refused_as_unknown_parameters_are(world: World) -> None:
    async def steps(client: Client) -> None:
        for uri in ("skill://another/SKILL.md", "memory://index", ""):
            with pytest.raises(MCPError) as refusal:
                await ask(client, "skills/get", uri=uri)
            assert refusal.value.error.code == types.INVALID_PARAMS
        with pytest.raises(MCPError) as refusal:
            await client.read_resource("skill://minutebook/secrets.md")
        assert refusal.value.error.code == types.INVALID_PARAMS

    talk(world, steps, "knowledge")


@pytest.mark.needs("catalog")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_it_is_a_resource_beside_those_of_a_contract(world: World, mode: Any) -> None:
    async def steps(client: Client) -> None:
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
        assert uris[-1] == URI
        assert "memory://index" in uris
        for uri in uris:
            assert (await client.read_resource(uri)).contents

    talk(world, steps, "catalog", "knowledge", mode=mode)


def test_the_older_handshake_has_no_room_for_extensions_and_has_the_resource(world: World) -> None:
    async def steps(client: Client) -> None:
        assert client.server_capabilities.extensions is None
        (resource,) = (await client.list_resources()).resources
        assert (str(resource.uri), resource.name) == (URI, "minutebook")
        assert (await client.list_resource_templates()).resource_templates == []

    talk(world, steps, "knowledge", mode="legacy")


@pytest.mark.parametrize(
    ("contract", "tools"),
    [
        pytest.param("journal", (), marks=pytest.mark.needs("journal")),
        ("knowledge", ("recall",)),
    ],
)
def test_a_server_without_the_tools_that_it_is_about_has_none(
    world: World, contract: str, tools: tuple[str, ...]
) -> None:
    async def steps(client: Client) -> None:
        assert client.server_capabilities.extensions is None
        with pytest.raises(MCPError) as refusal:
            await ask(client, "skills/list")
        assert refusal.value.error.code == types.METHOD_NOT_FOUND

    talk(world, steps, contract, tools=tools)
