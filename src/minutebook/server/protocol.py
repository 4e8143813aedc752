"""Contracts as an MCP server: tools listed as promised, calls answered in worker threads."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.from_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from minutebook import __version__
from minutebook.app import App
from minutebook.contracts.answers import Answer, Failure, failed
from minutebook.contracts.contract import Contract, Tool
from minutebook.domain.policy import Ask, Caller, Listener
from minutebook.server.reading import Resources, add_prompts
from minutebook.server.sampling import ContextOf, Sampling
from minutebook.server.watch import Watch
from minutebook.server.worker import Worker, protocol_error

TELL_EVERY = 0.5
"""Seconds between two progress notifications of one call."""

Spelling = Callable[[str], str]
"""Writes a tool's name as clients are shown it."""

_Context = ServerRequestContext[Any, Any]


def as_promised(name: str) -> str:
    """Spell a tool's name as its contract does."""
    return name


def build_server(
    contracts: Sequence[Contract],
    worker: Worker,
    spelling: Spelling = as_promised,
) -> Server[Any]:
    """Speak MCP for some contracts, no two of which offer a tool of the same name.

    Resources and prompts are announced if one of the contracts has them.
    """
    watch = Watch([each for each in contracts if each.resources], worker)
    sampling: Sampling[Answer | Failure] = Sampling()
    listed = types.ListToolsResult(
        tools=[
            _described(tool, spelling)
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
    ) -> types.CallToolResult | types.InputRequiredResult:
        name, arguments = params.name, params.arguments or {}
        contract = next((each for each in contracts if each.offers(name)), None)
        if contract is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")

        def call(app: App, asking: Caller) -> Answer:
            return contract.call(app, asking, name, arguments)

        async def work(context_of: ContextOf, ask: Ask | None) -> Answer | Failure:
            asking = worker.asking(context, _listener(context_of), ask)
            return await worker.do(contract, name, arguments, asking, call)

        if contract.asks(name):
            outcome = await sampling.do(context, params, work)
        else:
            outcome = await work(lambda: context, None)
        watch.wake()
        if isinstance(outcome, types.InputRequiredResult):
            return outcome
        return _as_result(outcome)

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with sampling.lifespan(), watch.lifespan(server) as state:
            yield state

    info = contracts[0].promise["info"] if len(contracts) == 1 else _joint_info(contracts)
    server: Server[Any] = Server(
        info["name"],
        version=info["version"],
        title=info["title"],
        instructions=info["instructions"],
        get_tool_input_schema=_schemas(listed).get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        lifespan=lifespan,
    )
    if watch.contracts:
        Resources(watch, worker).add_to(server)
    if prompting := [each for each in contracts if each.prompts]:
        add_prompts(server, prompting)
    return server


def options(server: Server[Any]) -> InitializationOptions:
    """Say what the server can do, to clients that shake hands."""
    has_resources = server.get_request_handler("resources/list") is not None
    return server.create_initialization_options(
        NotificationOptions(resources_changed=has_resources)
    )


def _listener(context_of: ContextOf) -> Listener:
    """Give what tells the client how far a call is, if it asked, and ends a call it has cancelled."""
    told_at, told = 0.0, 0.0

    def listener(part: float, what: str) -> None:
        nonlocal told_at, told
        anyio.from_thread.check_cancelled()
        now = time.monotonic()
        context = context_of()
        if context is not None and now - told_at >= TELL_EVERY and part > told:
            told_at, told = now, part
            anyio.from_thread.run(context.session.report_progress, part, 1.0, what)

    return listener


def _as_result(outcome: Answer | Failure) -> types.CallToolResult:
    answer = failed(outcome) if isinstance(outcome, Failure) else outcome
    failure = answer.error
    if failure is not None and failure.code is not None:
        raise protocol_error(failure)
    structured = answer.content if failure is None else failure.structured
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=None if structured is None else dict(structured),
        is_error=failure is not None,
    )


def _described(tool: Tool, spelling: Spelling) -> types.Tool:
    promise = tool.promise
    return types.Tool(
        name=spelling(tool.name),
        title=promise.get("title"),
        description=promise["description"],
        input_schema=promise["inputSchema"],
        output_schema=promise.get("outputSchema"),
        annotations=types.ToolAnnotations.model_validate(promise["annotations"]),
    )


def _schemas(listed: types.ListToolsResult) -> Mapping[str, Mapping[str, Any]]:
    return {tool.name: tool.input_schema for tool in listed.tools}


def _joint_info(contracts: Sequence[Contract]) -> Mapping[str, str]:
    texts = (str(contract.promise["info"]["instructions"]) for contract in contracts)
    return {
        "name": "minutebook",
        "version": __version__,
        "title": "Minutebook",
        "instructions": "\n\n".join(texts),
    }
