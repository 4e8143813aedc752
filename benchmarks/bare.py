"""The least that an MCP server on the official SDK can be: one tool that does nothing."""

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOL = types.Tool(name="nothing", description="Do nothing.", input_schema={"type": "object"})
DONE = types.CallToolResult(content=[types.TextContent(type="text", text="done")])


async def _list(
    context: ServerRequestContext, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[TOOL])


async def _call(
    context: ServerRequestContext, params: types.CallToolRequestParams
) -> types.CallToolResult:
    return DONE


def server() -> Server:
    """Make one, to be served in whichever way."""
    return Server("bare", version="1", on_list_tools=_list, on_call_tool=_call)


async def _serve() -> None:
    bare = server()
    async with stdio_server() as (incoming, outgoing):
        await bare.run(incoming, outgoing, bare.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
