"""The official Python client, at both ages of the protocol, at each contract, over both transports."""

import sys
from itertools import product
from typing import Literal

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from minutebook.serve.contracts.registry import CONTRACTS
from tests.conformance.first_calls import FIRST_CALLS
from tests.examples import parametrize_in_part

Mode = Literal["legacy", "2026-07-28", "auto"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28", "auto")


def check(contract: str, server: StdioServerParameters | str, mode: Mode) -> None:
    """Let a client list everything that is promised, and call one tool."""
    promised = CONTRACTS[contract]()
    tool, arguments = FIRST_CALLS[contract]

    async def talk() -> None:
        async with Client(server, mode=mode) as client:
            if (told := client.server_capabilities.tools) is not None:
                assert not told.list_changed, "a contract's tools never change"
            listed = (await client.list_tools()).tools
            assert [each.name for each in listed] == [
                each.name for each in promised.tools.values() if each.is_listed
            ]
            if promised.resources:
                shown = (await client.list_resources()).resources
                known = {str(each.uri) for each in shown}
                assert {each.promise["uri"] for each in promised.resources} <= known
                templates = (await client.list_resource_templates()).resource_templates
                assert len(templates) == len(promised.templates)
            if promised.prompts:
                prompts = (await client.list_prompts()).prompts
                assert [each.name for each in prompts] == list(promised.prompts)
            called = await client.call_tool(tool, dict(arguments))
            assert not called.is_error, called.content

    anyio.run(talk)


@pytest.mark.needs("http")
@parametrize_in_part(("contract", "mode"), [*product(CONTRACTS, MODES)], every=2)
def test_the_official_client_is_served_over_http(
    minutebook: str, contract: str, mode: Mode
) -> None:
    check(contract, f"{minutebook}/mcp/{contract}", mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_official_client_is_served_over_stdio(
    shared_home: str, contract: str, mode: Mode
) -> None:
    command = ["-m", "minutebook", "serve", contract, "--home", shared_home]
    check(contract, StdioServerParameters(command=sys.executable, args=command), mode)
