"""Each request gets an id, a line in the log and a place in the figures; none holds its content."""

import logging
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress

from h11 import LocalProtocolError
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minutebook.serve.logs import request_id

log = logging.getLogger(__name__)

HEADER = "x-request-id"

LONGEST_PATH = 200
"""Characters of a path that the log shows."""

_FITTING = re.compile(r"[A-Za-z0-9._-]{1,64}")


class AccessLog:
    """Notes each request: its id in `request.state.id`, in the answer and in every log line."""

    def __init__(self, app: ASGIApp, count: Callable[[int], None]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request and say how it went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, began, status = Request(scope), time.perf_counter(), 0
        stated = request.headers.get(HEADER, "")
        request.state.id = stated if _FITTING.fullmatch(stated) else secrets.token_hex(8)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request.state.id
            # uvicorn itself answers a body that is no HTTP, and takes no second answer.
            with suppress(LocalProtocolError):
                await send(message)

        mark = request_id.set(request.state.id)
        try:
            await self._app(scope, receive, sending)
        finally:
            self._count(status)
            facts = {
                "method": request.method,
                # As it came: what is decoded may hold line breaks, and with them lines of its own.
                "path": scope["raw_path"].decode("latin-1")[:LONGEST_PATH],
                "status": status,
                "seconds": round(time.perf_counter() - began, 6),
                "caller": getattr(getattr(request.state, "caller", None), "name", None),
            }
            log.info("%(method)s %(path)s: %(status)s in %(seconds)s s for %(caller)s", facts)
            request_id.reset(mark)
