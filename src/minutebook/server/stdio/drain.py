"""Let the calls under way be answered after the client has stopped writing.

The SDK cancels them when stdin ends, so `printf … | minutebook serve` would lose its answers.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from minutebook.server.protocol.methods import ENDLESS

DRAIN_WITHIN = 10.0
"""Seconds that calls under way may still take."""

Incoming = SessionMessage | Exception


class _Calls:
    """The requests that were read and not yet answered."""

    def __init__(self) -> None:
        self._open: set[types.RequestId] = set()
        self._changed = anyio.Event()

    def note_read(self, item: Incoming) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCRequest) and message.method != ENDLESS:
            self._open.add(message.id)
        elif (
            isinstance(message, types.JSONRPCNotification)
            and message.method == "notifications/cancelled"
        ):
            id = (message.params or {}).get("requestId")
            # What is no id can be anything that JSON can say.
            if isinstance(id, str | int):
                self._end(id)

    def note_written(self, item: SessionMessage) -> None:
        answer = item.message
        if isinstance(answer, types.JSONRPCResponse | types.JSONRPCError) and answer.id is not None:
            self._end(answer.id)

    async def all_answered(self) -> None:
        while self._open:
            await self._changed.wait()

    def _end(self, id: types.RequestId) -> None:
        self._open.discard(id)
        self._changed.set()
        self._changed = anyio.Event()


@asynccontextmanager
async def draining(
    incoming: ReadStream[Incoming], outgoing: WriteStream[SessionMessage]
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]
]:
    """Return streams for a server between these two; the end of `incoming` waits for open calls."""
    calls = _Calls()
    to_server, server_reads = anyio.create_memory_object_stream[Incoming]()
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage]()

    async def read() -> None:
        async with to_server:
            async for item in incoming:
                calls.note_read(item)
                await to_server.send(item)
            with anyio.move_on_after(DRAIN_WITHIN):
                await calls.all_answered()

    async def write() -> None:
        async with outgoing:
            async for item in from_server:
                await outgoing.send(item)
                calls.note_written(item)

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        yield server_reads, server_writes
