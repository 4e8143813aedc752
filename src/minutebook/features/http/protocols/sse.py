"""MCP as clients of 2024-11-05 speak it: a stream that they open, and messages posted beside it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from minutebook.features.http.requests.access import AccessControl
from minutebook.features.http.requests.body import read_body, replayed
from minutebook.features.http.requests.errors import REFUSALS, refused
from minutebook.server.limits import ConcurrencyLimit, TooManyRequests
from minutebook.server.protocol.message import parsed
from minutebook.server.protocol.server import options

SSE = "/sse"
"""Where these clients open their stream: for the default contract, and below it for each."""

_Incoming = SessionMessage | Exception


class Stream:
    """Speaks MCP for one server with a stream at a path, and messages at `messages` below it."""

    def __init__(self, server: Server[Any], path: str, access: AccessControl) -> None:
        self._server = server
        self._path = path
        self._access = access
        self._limits = access.limits
        size = access.limits.body_bytes + 1
        self._transport = SseServerTransport(f"{path}/messages", max_request_body_size=size)

    def routes(self, middleware: Sequence[Middleware]) -> list[Route]:
        """Return both routes, behind some middleware."""
        return [
            Route(self._path, _Endpoint(self._open), methods=["GET"], middleware=middleware),
            Route(
                f"{self._path}/messages",
                _Endpoint(self._post),
                methods=["POST"],
                middleware=middleware,
            ),
        ]

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._access.stream(self._serve, scope, receive, send)
        except REFUSALS as error:
            await refused(Request(scope), error)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = Request(scope).state.caller
        async with (
            self._transport.connect_sse(scope, receive, send) as (incoming, outgoing),
            _bounded(incoming, outgoing, self._limits.calls, caller.principal) as (calls, answers),
        ):
            await self._server.run(calls, answers, options(self._server))

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            body = await read_body(request, self._limits)
            parsed(body)
        except ClientDisconnect:
            return
        except REFUSALS as error:
            await refused(request, error)(scope, receive, send)
        else:
            await self._transport.handle_post_message(scope, replayed(body, receive), send)


class _Endpoint:
    """An ASGI application, as a route wants it: no function of a request."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Slots:
    """The slots that the calls of one stream hold, by the id of the request."""

    def __init__(self, limit: ConcurrencyLimit, principal: str) -> None:
        self._limit = limit
        self._principal = principal
        self._held: dict[Any, ExitStack] = {}

    def take(self, id: Any) -> None:
        """Take a slot for a call. Raises TooManyRequests if none is free."""
        slot = ExitStack()
        slot.enter_context(self._limit.hold(self._principal))
        self._held[id] = slot

    def release(self, id: Any) -> None:
        """Release the slot of a call, if it holds one."""
        self._held.pop(id, ExitStack()).close()

    def close(self) -> None:
        """Release the slots of all calls."""
        for slot in self._held.values():
            slot.close()


@asynccontextmanager
async def _bounded(
    incoming: ReadStream[_Incoming],
    outgoing: WriteStream[SessionMessage],
    limit: ConcurrencyLimit,
    principal: str,
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]
]:
    """Yield streams between these two for a server; each call holds a slot until it is answered.

    A call that gets no slot is answered with an error, since its POST was accepted already.
    """
    to_server, server_reads = anyio.create_memory_object_stream[_Incoming]()
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage]()
    slots = _Slots(limit, principal)

    async def read() -> None:
        async with to_server:
            async for item in incoming:
                message = item.message if isinstance(item, SessionMessage) else None
                if isinstance(message, types.JSONRPCRequest):
                    try:
                        slots.take(message.id)
                    except TooManyRequests as error:
                        await outgoing.send(SessionMessage(_refused(message.id, error)))
                        continue
                await to_server.send(item)

    async def write() -> None:
        async for item in from_server:
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                slots.release(item.message.id)
            await outgoing.send(item)

    with closing(slots):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            yield server_reads, server_writes
            group.cancel_scope.cancel()


def _refused(id: str | int, error: TooManyRequests) -> types.JSONRPCError:
    data = types.ErrorData(code=types.INVALID_REQUEST, message=error.reason)
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=data)
