"""MCP over a socket: one JSON-RPC message a line; a line that is not a message is answered with an error.

The SDK takes 0.4 s to import and a millisecond or more of each call. So the handshake, lists of tools and calls of them
are answered without it, in the form that clients send; it gets everything else, and is imported then.
"""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from anyio.abc import ByteStream, SocketStream, TaskGroup

from minutebook.serve.contracts.announced import Announced
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import Dispatcher, rpc_error, tool_job
from minutebook.serve.limits import TooManyRequests
from minutebook.serve.protocol.calls import progress_of, result_of
from minutebook.serve.protocol.methods import ENDLESS, INVALID_REQUEST
from minutebook.serve.stdio.early import EarlyAnswers, is_plain_call, line_of, message_in
from minutebook.serve.stdio.proxy import ProxyConversation
from minutebook.serve.stdio.whereabouts import Whereabouts

if TYPE_CHECKING:
    from minutebook.serve.stdio.sdk import SdkServer

Send = Callable[[bytes], Awaitable[None]]

MOST = 16 << 20
"""Bytes of the longest line that is read."""

DRAIN_WITHIN = 10.0
"""Seconds that calls may still take once the client has stopped writing."""

_CHUNK = 1 << 16


class ConnectionService(NamedTuple):
    """The service of a connection: contracts, for the caller of `whereabouts`; with `is_safe` tools have their `safe_name`."""

    whereabouts: Whereabouts
    contracts: Sequence[Contract]
    dispatcher: Dispatcher
    is_safe: bool


def serve_on(
    connection: socket.socket, service: ConnectionService, on_answer: Callable[[], object]
) -> None:
    """Serve one client until it has stopped writing and has its answers, or is gone.

    `on_answer` is called after each answer that was sent.
    """

    async def serve() -> None:
        async with (
            await SocketStream.from_socket(connection) as stream,
            anyio.create_task_group() as group,
        ):
            await _LineServer(stream, service, on_answer, group).read()

    anyio.run(serve)


class _LineServer:
    """Reads the lines of a client, and answers each itself or by the SDK's server."""

    def __init__(
        self,
        stream: ByteStream,
        service: ConnectionService,
        on_answer: Callable[[], object],
        group: TaskGroup,
    ) -> None:
        self._stream, self._service = stream, service
        self._on_answer, self._group = on_answer, group
        promises = [each.promise for each in service.contracts]
        self._early = EarlyAnswers(Announced(promises, is_safe=service.is_safe))
        self._conversation = ProxyConversation()
        self._client: Any = None
        """The client as its handshake describes it; None if that was not a plain one."""
        self._calls: dict[object, anyio.CancelScope] = {}
        """The calls under way that are answered without the SDK, by id."""
        self._sdk: SdkServer | None = None
        self._writing, self._changed = anyio.Lock(fast_acquire=True), anyio.Event()

    async def read(self) -> None:
        """Answer each line, then wait for the answers under way.

        The SDK cancels calls when stdin ends, so `printf … | minutebook serve` would lose its answers.
        """
        async for line in _lines(self._stream):
            if line is None:
                reason = f"The message is over {MOST >> 20} MB long."
                error = {"code": INVALID_REQUEST, "message": reason}
                await self._send(line_of(id=None, error=error))
            elif not await self._answer_without_sdk(line):
                await self._to_sdk(line)
        with anyio.move_on_after(DRAIN_WITHIN):
            while any(each.method != ENDLESS for each in self._conversation.requests.values()):
                await self._changed.wait()
        for scope in self._calls.values():
            scope.cancel()
        if self._sdk is not None:
            await self._sdk.end()

    async def _answer_without_sdk(self, line: bytes) -> bool:
        """Answer a line that needs no SDK, a plain handshake or a line after one; return whether it was such a line."""
        message, answer = message_in(line), None
        is_first = self._client is None
        if message is None or (is_first and (self._sdk or message["method"] != "initialize")):
            return False
        match message:
            case {"id": id, "method": "tools/call"} if contract := self._contract(message):
                self._calls[id] = anyio.CancelScope()
                self._group.start_soon(self._call, contract, message)
            case {"id": _}:
                if (answer := self._early.answer_to(message)) is None:
                    return False
                self._client = self._client or _client(message["params"])
            case {"method": "notifications/initialized"} if self._sdk is None:
                pass
            case {
                "method": "notifications/cancelled",
                "params": {"requestId": str() | int() as id},
            }:
                if id in self._calls:
                    self._calls[id].cancel()
                if self._sdk is not None:
                    return False
            case _:
                return False
        self._conversation.note_client_line(line)
        if answer is not None:
            await self._send(answer)
        return True

    def _contract(self, message: dict[str, Any]) -> Contract | None:
        """Return the contract of a tool that can be called without asking the client anything, else None."""
        has_roots = self._client.capabilities.roots is not None
        asks_roots = has_roots and self._service.whereabouts.asks_roots
        if asks_roots or message["id"] in self._calls or not is_plain_call(message):
            return None
        name = message["params"]["name"]
        offering = (each for each in self._service.contracts if each.offers(name))
        return next((each for each in offering if not each.samples(name)), None)

    async def _call(self, contract: Contract, message: dict[str, Any]) -> None:
        """Call a tool, and send the answer unless the client cancelled the call."""
        dispatcher, params, id = self._service.dispatcher, message["params"], message["id"]
        context = _context(message, self._client, self._send)
        with (scope := self._calls[id]):
            await dispatcher.locate(context)
            caller = dispatcher.caller(context, progress_of(lambda: context))
            job = tool_job(contract, params["name"], params.get("arguments", {}), caller)
            try:
                result = result_of(await dispatcher.run(job))
            except TooManyRequests as limit:
                result = Failure(limit.reason)
        del self._calls[id]
        dispatcher.note_call()
        if scope.cancel_called:
            return
        if isinstance(result, Failure):
            await self._send(line_of(id=id, error=rpc_error(result)))
        else:
            await self._send(line_of(id=id, result=result))

    async def _to_sdk(self, line: bytes) -> None:
        if self._sdk is None:
            from minutebook.serve.stdio.sdk import SdkServer

            self._sdk = SdkServer(self._send, *self._service)
            self._group.start_soon(self._sdk.run)
            for each in self._conversation.opening_lines():
                await self._sdk.receive(each)
        self._conversation.note_client_line(line)
        await self._sdk.receive(line)

    async def _send(self, line: bytes) -> None:
        """Send a line to the client, as far as the conversation has one for it: not the answer to a repeated message."""
        if not (line := self._conversation.note_server_line(line)):
            return
        try:
            # A call that is cancelled meanwhile must not leave half a line.
            with anyio.CancelScope(shield=True):
                async with self._writing:
                    await self._stream.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # Nobody is left to answer; what is under way in a thread is finished there.
            self._group.cancel_scope.cancel()
            return
        self._on_answer()
        self._changed.set()
        self._changed = anyio.Event()


def _context(message: dict[str, Any], client: Any, send: Send) -> Any:
    """Return a call's context with the attributes of the SDK's that are used here."""
    meta = message["params"].get("_meta", {})

    async def report_progress(part: float, total: float, what: str) -> None:
        if (token := meta.get("progressToken")) is not None:
            params = {"progressToken": token, "progress": part, "total": total, "message": what}
            await send(line_of(method="notifications/progress", params=params))

    session = SimpleNamespace(client_params=client, report_progress=report_progress)
    return SimpleNamespace(
        method="tools/call", request_id=message["id"], meta=meta, session=session
    )


def _client(handshake: Mapping[str, Any]) -> SimpleNamespace:
    """Return the facts of a handshake about the client, with the attributes of the SDK's `client_params`."""
    return SimpleNamespace(
        client_info=SimpleNamespace(**handshake["clientInfo"]),
        capabilities=SimpleNamespace(roots=handshake["capabilities"].get("roots")),
    )


async def _lines(stream: ByteStream) -> AsyncIterator[bytes | None]:
    """Yield each line that is not blank, None for one that is too long."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            chunk = await stream.receive(_CHUNK)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            break
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            if size + len(end) > MOST:
                yield None
            elif line := b"".join([*parts, end]).strip():
                yield line
            parts, size = [], 0
        size += len(rest)
        # What is over the limit is counted, not kept.
        parts = [*parts, rest] if size <= MOST else []
    if line := b"".join(parts).strip():
        yield line
