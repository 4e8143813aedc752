"""Contracts as an MCP server: tools listed as promised, calls answered in worker threads."""

import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from minutebook import __version__
from minutebook.app import App
from minutebook.contracts.contract import Answer, Contract, Tool
from minutebook.domain.errors import MinutebookError
from minutebook.domain.policy import Caller, Listener

log = logging.getLogger(__name__)

TELL_EVERY = 0.5
"""Seconds between two progress notifications of one call."""

OpenApp = Callable[[], App]
"""Gives the app, opening it at the first call."""

_Context = ServerRequestContext[Any, Any]


def build_server(contracts: Sequence[Contract], open_app: OpenApp, caller: Caller) -> Server[Any]:
    """Speak MCP for some contracts, no two of which offer a tool of the same name."""
    connection = secrets.token_hex(4)
    listed = types.ListToolsResult(
        tools=[
            _described(tool)
            for contract in contracts
            for tool in contract.tools.values()
            if tool.is_listed
        ]
    )

    async def list_tools(
        context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        name = params.name
        contract = next((each for each in contracts if each.offers(name)), None)
        if contract is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
        asking = replace(
            caller, request=f"{connection}-{context.request_id}", listener=_listener(context)
        )
        answer = await anyio.to_thread.run_sync(
            partial(_answer, contract, open_app, asking, name, params.arguments or {})
        )
        return _as_result(answer)

    info = contracts[0].promise["info"] if len(contracts) == 1 else _joint_info(contracts)
    return Server(
        info["name"],
        version=info["version"],
        title=info["title"],
        instructions=info["instructions"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listener(context: _Context) -> Listener:
    """Give what tells the client how far a call is, if it asked, and ends a call it has cancelled."""
    told_at, told = 0.0, 0.0

    def listener(part: float, what: str) -> None:
        nonlocal told_at, told
        anyio.from_thread.check_cancelled()
        now = time.monotonic()
        if now - told_at >= TELL_EVERY and part > told:
            told_at, told = now, part
            anyio.from_thread.run(context.session.report_progress, part, 1.0, what)

    return listener


def _answer(
    contract: Contract,
    open_app: OpenApp,
    caller: Caller,
    name: str,
    arguments: Mapping[str, Any],
) -> Answer:
    """Answer a call, whatever happens: a fault of ours must not end the connection."""
    try:
        return contract.call(open_app(), caller, name, arguments)
    except MinutebookError as error:
        return Answer(None, contract.word(error))
    except Exception:
        log.exception("tool %s failed in request %s", name, caller.request)
        return Answer(
            None,
            f"Internal error in {name}. Nothing was changed. Please report it with the lines on "
            f"stderr around request {caller.request}.",
        )


def _as_result(answer: Answer) -> types.CallToolResult:
    if answer.content is None:
        text = types.TextContent(type="text", text=answer.error or "")
        return types.CallToolResult(content=[text], is_error=True)
    text = types.TextContent(type="text", text=json.dumps(answer.content, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=dict(answer.content))


def _described(tool: Tool) -> types.Tool:
    promise = tool.promise
    return types.Tool(
        name=tool.name,
        description=promise["description"],
        input_schema=promise["inputSchema"],
        output_schema=promise.get("outputSchema"),
        annotations=types.ToolAnnotations.model_validate(promise["annotations"]),
    )


def _joint_info(contracts: Sequence[Contract]) -> Mapping[str, str]:
    texts = (str(contract.promise["info"]["instructions"]) for contract in contracts)
    return {
        "name": "minutebook",
        "version": __version__,
        "title": "Minutebook",
        "instructions": "\n\n".join(texts),
    }
