"""The body of a request: all of it, within a size and a time."""

from dataclasses import dataclass

import anyio
from starlette.requests import Request
from starlette.types import Message, Receive

from minutebook.server.http.turns import while_waiting

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@dataclass(eq=False)
class BadBody(Exception):
    """A body that is not read: the HTTP status and the reason."""

    status: int
    reason: str


async def read_body(request: Request, limit: int, within: float, type: str = JSON) -> bytes:
    """Read a body of a media type, of at most `limit` bytes, in `within` seconds.

    Raises BadBody if it is larger, slower or of another type, ClientDisconnect if the client
    leaves.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != type:
        raise BadBody(415, f"Content-Type must be {type} (it is {kind[:100]!r})")
    too_large = BadBody(413, f"The body is larger than {limit} bytes, which http_body allows")
    if int(request.headers.get("content-length") or 0) > limit:
        raise too_large
    body = bytearray()
    try:
        async with while_waiting(request):
            with anyio.fail_after(within):
                async for part in request.stream():
                    body += part
                    if len(body) > limit:
                        raise too_large
    except TimeoutError:
        raise BadBody(408, f"The body did not come within {within:g} seconds") from None
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first yields a body that was read already."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again
