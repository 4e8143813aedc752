"""Each request gets an id, a line in the log and a count in the metrics, all without its content."""

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

_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class AccessLog:
    """Logs and counts each request; its id is in `request.state.id`, in the answer and in every log line."""

    def __init__(self, app: ASGIApp, count: Callable[[int], None]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, then log and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, began, status = Request(scope), time.perf_counter(), 0
        sent = request.headers.get(HEADER, "")
        request.state.id = sent if _VALID_ID.fullmatch(sent) else secrets.token_hex(8)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = request.state.id
            # uvicorn itself answers a malformed body, and refuses a second answer.
            with suppress(LocalProtocolError):
                await send(message)

        previous = request_id.set(request.state.id)
        try:
            await self._app(scope, receive, sending)
        finally:
            self._count(status)
            facts = {
                "method": request.method,
                # Not decoded: it could hold line breaks, and so forge lines.
                "path": scope["raw_path"].decode("latin-1")[:LONGEST_PATH],
                "status": status,
                "seconds": round(time.perf_counter() - began, 6),
                "caller": getattr(getattr(request.state, "caller", None), "name", None),
            }
            log.info("%(method)s %(path)s: %(status)s in %(seconds)s s for %(caller)s", facts)
            request_id.reset(previous)
