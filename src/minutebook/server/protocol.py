"""Contracts as an MCP server: tools listed as promised, calls answered in worker threads."""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from minutebook import __version__
from minutebook.app import App
from minutebook.contracts.answers import Answer, failed
from minutebook.contracts.contract import Contract, Tool
from minutebook.domain.errors import Fault, MinutebookError
from minutebook.domain.policy import Caller

log = logging.getLogger(__name__)

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
        asking = replace(caller, request=f"{connection}-{context.request_id}")
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
        return failed(contract.word(error, arguments))
    except Exception:
        log.exception("tool %s failed in request %s", name, caller.request)
        return failed(contract.word(Fault(name, caller.request), arguments))


def _as_result(answer: Answer) -> types.CallToolResult:
    text = types.TextContent(type="text", text=answer.text)
    failure = answer.error
    if failure is not None and failure.code is not None:
        raise MCPError(failure.code, failure.text, failure.structured)
    structured = answer.content if failure is None else failure.structured
    return types.CallToolResult(
        content=[text],
        structured_content=None if structured is None else dict(structured),
        is_error=failure is not None,
    )


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
