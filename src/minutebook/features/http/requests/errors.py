"""The response to a request that is refused before any contract sees it."""

from collections.abc import Mapping
from http import HTTPStatus

from mcp_types import INVALID_REQUEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from minutebook.features.http.requests.body import BadBody
from minutebook.serve.limits import TooManyRequests
from minutebook.serve.protocol.message import BadMessage

MCP = "/mcp"
"""The path of MCP: of the default contract; each contract is below it by its name."""

REFUSALS = (BadBody, BadMessage, TooManyRequests)
"""The errors that refuse a request before a contract sees it: it cannot be read, or a limit is reached."""


def refused(
    request: Request, error: BadBody | BadMessage | TooManyRequests, id: str | int | None = None
) -> Response:
    """Return the response that refuses a request; `id` is its JSON-RPC id, if that was read."""
    match error:
        case BadBody():
            # After a body that was not read the next request cannot be found.
            closing = {"Connection": "close"}
            return refusal(request, error.status, error.reason, headers=closing)
        case BadMessage():
            return refusal(request, 400, error.reason, code=error.code, id=error.id)
        case TooManyRequests():
            return refusal(request, 429, error.reason, headers={"Retry-After": "1"}, id=id)


def refusal(
    request: Request,
    status: int,
    reason: str,
    *,
    headers: Mapping[str, str] | None = None,
    code: int = INVALID_REQUEST,
    id: str | int | None = None,
) -> Response:
    """Return a response that says why: to MCP clients a JSON-RPC error, to others an object.

    `code` and `id` are of the JSON-RPC error.
    """
    if request.url.path == MCP or request.url.path.startswith(f"{MCP}/"):
        error = {"code": code, "message": reason}
        return JSONResponse({"jsonrpc": "2.0", "id": id, "error": error}, status, headers)
    body = {"error": HTTPStatus(status).phrase, "message": reason}
    return JSONResponse(body, status, headers)
