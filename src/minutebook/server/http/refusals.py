"""What a client reads when a request is refused before any contract sees it."""

from collections.abc import Mapping
from http import HTTPStatus

from mcp_types import INVALID_REQUEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MCP = "/mcp"
"""Where MCP is spoken: for the contract that is the default, and below it for each by its name."""


def refusal(
    request: Request,
    status: int,
    reason: str,
    *,
    headers: Mapping[str, str] | None = None,
    code: int = INVALID_REQUEST,
    id: str | int | None = None,
) -> Response:
    """Say why a request is refused: to MCP clients as a JSON-RPC error, to others as an object.

    `code` and `id` are of the JSON-RPC error.
    """
    if request.url.path == MCP or request.url.path.startswith(f"{MCP}/"):
        error = {"code": code, "message": reason}
        return JSONResponse({"jsonrpc": "2.0", "id": id, "error": error}, status, headers)
    told = {"error": HTTPStatus(status).phrase, "message": reason}
    return JSONResponse(told, status, headers)
