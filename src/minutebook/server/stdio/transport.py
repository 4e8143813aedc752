"""MCP over a socket: one JSON-RPC message a line, and an answer to every line that is none."""

import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ByteStream, SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic_core import PydanticSerializationError

from minutebook.server.protocol.message import BadMessage, parsed
from minutebook.server.protocol.server import options
from minutebook.server.stdio.drain import Incoming, draining

log = logging.getLogger(__name__)

MOST = 16 << 20
"""Bytes of the longest line that is read."""

_CHUNK = 1 << 16

_Incoming = MemoryObjectReceiveStream[Incoming]
_Outgoing = MemoryObjectSendStream[SessionMessage]


def serve_on(
    connection: socket.socket, server: Server[Any], on_answer: Callable[[], object]
) -> None:
    """Serve one client until it has stopped writing and has its answers, or is gone.

    `on_answer` is called after each answer that was sent.
    """

    async def serve() -> None:
        async with (
            await SocketStream.from_socket(connection) as stream,
            _messages(stream, on_answer) as ends,
            draining(*ends) as (incoming, outgoing),
        ):
            await server.run(incoming, outgoing, options(server))

    anyio.run(serve)


@asynccontextmanager
async def _messages(
    stream: ByteStream, on_answer: Callable[[], object]
) -> AsyncIterator[tuple[_Incoming, _Outgoing]]:
    to_server, incoming = anyio.create_memory_object_stream[Incoming]()
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage]()
    replies = outgoing.clone()

    async def read() -> None:
        async with to_server, replies:
            async for line in _lines(stream):
                try:
                    message = _parsed(line)
                except BadMessage as error:
                    answer = _refusal(error.id, error.code, error.reason)
                    await replies.send(SessionMessage(answer))
                else:
                    await to_server.send(SessionMessage(message))

    async def write() -> None:
        async with from_server:
            async for item in from_server:
                try:
                    await stream.send(_written(item.message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    # Nobody is left to answer; what is under way in a thread is finished there.
                    group.cancel_scope.cancel()
                    return
                on_answer()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        yield incoming, outgoing


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


def _parsed(line: bytes | None) -> types.JSONRPCMessage:
    if line is None:
        raise BadMessage(types.INVALID_REQUEST, f"The message is over {MOST >> 20} MB long.")
    return parsed(line)


def _refusal(id: str | int | None, code: int, text: str) -> types.JSONRPCError:
    error = types.ErrorData(code=code, message=text)
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=error)


def _written(message: types.JSONRPCMessage) -> bytes:
    """Write a message as a line; one with a text that is none of Unicode becomes an error."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        log.exception("an answer cannot be written")
    id = getattr(message, "id", None)
    text = "The answer holds text that is not valid Unicode; the log has more."
    return _written(_refusal(id, types.INTERNAL_ERROR, text))
