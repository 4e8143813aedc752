"""Contracts as an MCP server: tools listed as promised, calls answered in worker threads."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from minutebook.serve.contracts.announced import (
    ICON,
    MODERN_VERSION,
    WEBSITE,
    Announced,
    has_skill,
    joint_info,
)
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.limits import TooManyRequests
from minutebook.serve.protocol.resources import Resources, add_prompts
from minutebook.serve.protocol.skills import SkillShelf
from minutebook.serve.protocol.subscriptions import Watch
from minutebook.serve.protocol.tools import Tools

_Context = ServerRequestContext[Any, Any]


def build_server(
    contracts: Sequence[Contract],
    dispatcher: Dispatcher,
    is_safe: bool = False,  # noqa: FBT001, FBT002
) -> Server[Any]:
    """Return a server that speaks MCP for some contracts, no two of which have a tool of the same name.

    With `is_safe` clients are shown the tools' names as `safe_name` spells them. Resources and prompts are announced
    if a contract has some, the skill if its tools are there.
    """
    watch = Watch([contract for contract in contracts if contract.resources], dispatcher)
    dispatcher.on_call.append(watch.check_now)
    promises = [contract.promise for contract in contracts]
    announced = Announced(promises, is_safe=is_safe)
    tools = Tools(contracts, dispatcher, announced)

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with tools.sampling.lifespan(), watch.lifespan(server) as state:
            yield state

    info = joint_info(promises)
    listed = announced.tools(MODERN_VERSION, "")["tools"]
    server: Server[Any] = Server(
        info["name"],
        version=info["version"],
        title=info["title"],
        website_url=WEBSITE,
        icons=[types.Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        instructions=info["instructions"],
        get_tool_input_schema={tool["name"]: tool["inputSchema"] for tool in listed}.get,
        on_list_tools=tools.list_all,
        on_call_tool=tools.call,
        lifespan=lifespan,
    )
    if watch.contracts:
        Resources(watch, dispatcher).add_to(server)
    if has_skill(promises):
        SkillShelf().add_to(server)
    if prompting := [contract for contract in contracts if contract.prompts]:
        add_prompts(server, prompting, dispatcher)
    _correct_discovery(server)
    server.middleware.append(_word_limit)
    return server


async def _word_limit(ctx: _Context, call_next: CallNext) -> HandlerResult:
    """Answer a request that a limit refuses with an error that says so."""
    try:
        return await call_next(ctx)
    except TooManyRequests as error:
        raise MCPError(types.INTERNAL_ERROR, error.reason) from error


def options(server: Server[Any]) -> InitializationOptions:
    """Return the server's capabilities for the handshake."""
    changing = server.get_request_handler("resources/subscribe") is not None
    return server.create_initialization_options(NotificationOptions(resources_changed=changing))


def _correct_discovery(server: Server[Any]) -> None:
    """Have `server/discover` say that the lists of tools and prompts do not change.

    The SDK announces changes of every list if a client can subscribe to any.
    """
    derived = server.get_request_handler("server/discover")
    assert derived is not None

    async def discover(context: _Context, params: types.RequestParams) -> types.DiscoverResult:
        result = await derived.handler(context, params)
        assert isinstance(result, types.DiscoverResult)
        for each in (result.capabilities.tools, result.capabilities.prompts):
            if each is not None:
                each.list_changed = False
        return result

    server.add_request_handler("server/discover", types.RequestParams, discover)
