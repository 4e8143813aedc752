"""The SDK's server on a connection, for lines that are not answered without it."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic_core import PydanticSerializationError

from minutebook.serve.protocol.message import BadMessage, parsed
from minutebook.serve.protocol.methods import INTERNAL_ERROR
from minutebook.serve.protocol.server import build_server, options
from minutebook.serve.stdio.early import line_of
from minutebook.serve.stdio.whereabouts import Whereabouts

log = logging.getLogger(__name__)


class SdkServer:
    """Answers the lines of a connection that are handed to it; `send` writes its lines."""

    def __init__(
        self, send: Callable[[bytes], Awaitable[None]], whereabouts: Whereabouts, *served: Any
    ) -> None:
        """Build the server; `served` are the arguments of `build_server`."""
        self._server = build_server(*served)
        whereabouts.add_to(self._server)
        self._send = send
        incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        self._to_server, self._incoming = incoming

    async def run(self) -> None:
        """Serve until `end` is called."""
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage]()
        serving = (self._incoming, outgoing, options(self._server))
        async with anyio.create_task_group() as group:
            group.start_soon(self._server.run, *serving)
            async for item in from_server:
                await self._send(_written(item.message))

    async def end(self) -> None:
        """Let the server end; its calls are cancelled."""
        await self._to_server.aclose()

    async def receive(self, line: bytes) -> None:
        """Hand a line to the server, or answer it with an error if it is not a message."""
        try:
            await self._to_server.send(SessionMessage(parsed(line)))
        except BadMessage as error:
            answer = {"code": error.code, "message": error.reason}
            await self._send(line_of(id=error.id, error=answer))


def _written(message: types.JSONRPCMessage) -> bytes:
    """Return a message as a line, or an error if it holds text that is not valid Unicode."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        log.exception("an answer cannot be written")
    text = "The answer holds text that is not valid Unicode; the log has more."
    error = {"code": INTERNAL_ERROR, "message": text}
    return line_of(id=getattr(message, "id", None), error=error)
