"""MCP at one path: with the SDK's sessions and streams, or single requests without a session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from mcp.server.auth.middleware.bearer_auth import authorization_context
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from minutebook.features.http.requests.access import AccessControl
from minutebook.features.http.requests.body import BODY_BYTES, read_body, replayed
from minutebook.features.http.requests.errors import REFUSALS, refused
from minutebook.serve.limits import SESSIONS
from minutebook.serve.protocol.message import parsed
from minutebook.serve.protocol.methods import ENDLESS

INITIALIZE = "initialize"


class Endpoint:
    """Speaks MCP for one server at one path.

    A client that begins with a handshake and accepts streams gets a session. Any other request is answered
    by itself, with one JSON object if the client accepts nothing else.
    """

    def __init__(self, server: Server[Any], access: AccessControl) -> None:
        self._server = server
        self._access = access
        self._limits = access.limits
        # This endpoint itself limits the body's size, before either manager reads it.
        size = BODY_BYTES + 1
        self._sessions = StreamableHTTPSessionManager(
            server, max_request_body_size=size, max_sessions=SESSIONS
        )
        self._single = StreamableHTTPSessionManager(
            server, stateless=True, json_response=True, max_request_body_size=size
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run both managers within this block."""
        async with self._server.lifespan(self._server) as state:

            @asynccontextmanager
            async def entered(server: Server[Any]) -> AsyncIterator[Any]:
                yield state

            # Each manager enters the server's lifespan, which must be entered once.
            self._server.lifespan = entered
            async with self._sessions.run(), self._single.run():
                yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: a posted message, a stream to open, or the end of a session."""
        request = Request(scope, receive)
        request.state.call = None
        try:
            if request.method == "GET" and not _is_modern(request):
                await self._access.stream(self._sessions.handle_request, scope, receive, send)
            elif request.method == "POST":
                await self._post(request, scope, receive, send)
            else:
                await self._sessions.handle_request(scope, receive, send)
        except REFUSALS as error:
            await refused(request, error, request.state.call)(scope, receive, send)

    async def _post(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(request, self._limits)
            message = parsed(body)
        except ClientDisconnect:
            return
        call = message if isinstance(message, JSONRPCRequest) else None
        request.state.call = None if call is None else call.id
        manager = self._manager_for(request, call)
        if manager is self._sessions and call is not None and call.method == INITIALIZE:
            self._check_may_open_session(request)
        if manager is self._single or _is_modern(request):
            request.state.caller = self._access.in_session(request.state.caller)
        handle = manager.handle_request
        receive = replayed(body, receive)
        if call is not None and call.method == ENDLESS:
            await self._access.stream(handle, scope, receive, send)
            return
        # Answers and notifications do not count: a call under way may wait for them.
        principal = request.state.caller.principal
        with nullcontext() if call is None else self._limits.calls.hold(principal):
            await handle(scope, receive, send)

    def _manager_for(
        self, request: Request, call: JSONRPCRequest | None
    ) -> StreamableHTTPSessionManager:
        _, takes_streams = check_accept_headers(request)
        if not takes_streams:
            return self._single
        opens_session = call is not None and call.method == INITIALIZE
        if _is_modern(request) or opens_session or MCP_SESSION_ID_HEADER in request.headers:
            return self._sessions
        return self._single

    def _check_may_open_session(self, request: Request) -> None:
        """Raise TooManyRequests if the caller has its share of sessions open."""
        owner = authorization_context(request.user)
        # The SDK limits the number of all sessions, and has no public way to their owners.
        held = sum(each == owner for each in self._sessions._session_owners.values())
        self._limits.sessions.check_quota(request.state.caller.principal, held)


def _is_modern(request: Request) -> bool:
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
