"""The body of a request, limited in size and time; and the turn of a request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import numpy as np
from starlette.requests import Request
from starlette.types import Message, Receive

from minutebook.record.reason import Reason
from minutebook.serve.limits import TURN_SECONDS, FairQueue, Limits


class RequestTurn:
    """The turn of one request of a holder; it may be released and taken again."""

    def __init__(self, queue: FairQueue, holder: str) -> None:
        self.holder = holder
        self._queue = queue
        self._ends: asyncio.TimerHandle | None = None

    async def take(self) -> None:
        """Wait for the turn. Raises TooManyRequests if too many of the holder wait."""
        await self._queue.take(self.holder, self)
        self._ends = asyncio.get_running_loop().call_later(TURN_SECONDS, self.release)

    def release(self) -> None:
        """End the turn, if it has not ended."""
        if self._ends is not None:
            self._ends.cancel()
            self._ends = None
            self._queue.release(self.holder, self)


@asynccontextmanager
async def while_waiting(request: Request) -> AsyncIterator[None]:
    """Release the turn of a request within this block, which waits for the client."""
    turn: RequestTurn | None = getattr(request.state, "turn", None)
    if turn is not None:
        turn.release()
    yield
    if turn is not None:
        await turn.take()


MOST_PARTS = 50_000
"""Strings and commas in a body of JSON, at most: parsing one takes 0.3 µs, and nobody else is served meanwhile."""

BODY_BYTES = 4 << 20
"""Bytes of a request's body over HTTP, at most."""

BODY_SECONDS = 10.0
"""Seconds that an HTTP client may take to send the body of its request."""

LARGE = 65_536
"""Bytes from which a body is large; the server buffers as many before they are asked for."""

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


class BadBody(Exception):
    """A body that is refused: the HTTP status and the reason."""

    def __init__(self, status: int, reason: str, **values: object) -> None:
        super().__init__(reason)
        self.status, self.reason = status, Reason(reason, **values)


async def read_body(request: Request, limits: Limits, type: str = JSON) -> bytes:
    """Return a request's body of the media type `type`.

    Raises BadBody if it is too large, too slow, of another type, or has too many parts, TooManyRequests if too many
    bodies of the sender wait to be read, ClientDisconnect if the client leaves.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != type:
        reason = "Content-Type must be {type} (it is {given!r})"
        raise BadBody(415, reason, type=type, given=kind[:100])
    reason = "The body is larger than {most} bytes"
    too_large = BadBody(413, reason, most=BODY_BYTES)
    if int(request.headers.get("content-length") or 0) > BODY_BYTES:
        raise too_large
    reason = "The body has more than {most} values; send fewer at once"
    too_many = BadBody(413, reason, most=MOST_PARTS)
    body, parts = bytearray(), Parts()
    try:
        async with while_waiting(request), _reading_turn(request, limits):
            with anyio.fail_after(BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > BODY_BYTES:
                        raise too_large
                    if type == JSON and parts.add(part) > MOST_PARTS:
                        raise too_many
    except TimeoutError:
        reason = "The body did not come within {wait:g} seconds"
        raise BadBody(408, reason, wait=BODY_SECONDS) from None
    whole = bytes(body)
    if parts.most > MOST_PARTS and parts_of(whole) > MOST_PARTS:
        raise too_many
    return whole


@asynccontextmanager
async def _reading_turn(request: Request, limits: Limits) -> AsyncIterator[None]:
    """Wait, for a large body, until few enough others of its sender are read; unread bytes stay with the client."""
    turn: RequestTurn | None = getattr(request.state, "turn", None)
    if turn is None or int(request.headers.get("content-length", LARGE)) < LARGE:
        yield
        return
    async with limits.bodies.hold(turn.holder):
        yield


class Parts:
    """Bounds for the number of strings, and commas outside of them, in JSON that comes piece by piece.

    Counting them takes a hundred times as long as counting quotation marks and commas.
    """

    def __init__(self) -> None:
        self._quotes = self._escaped = self._commas = self._pieces = 0

    def add(self, piece: bytes) -> int:
        """Count in the next piece; return the lower bound."""
        octets = np.frombuffer(piece, np.uint8)
        quotes = octets == ord('"')
        self._quotes += int(np.count_nonzero(quotes))
        self._escaped += int(np.count_nonzero(quotes[1:] & (octets[:-1] == ord("\\"))))
        self._commas += int(np.count_nonzero(octets == ord(",")))
        self._pieces += 1
        if not self._quotes:
            return self._commas
        # The first quotation mark of a piece may be escaped by a backslash at the end of the piece before.
        return (self._quotes - self._escaped - self._pieces) // 2

    @property
    def most(self) -> int:
        """The upper bound."""
        return (self._quotes + 1) // 2 + self._commas


def parts_of(body: bytes) -> int:
    """Return the number of strings, and of commas outside of them, in JSON."""
    # Backslashes are removed with the backslash or quotation mark that each escapes.
    between = body.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
    return len(between) // 2 + b"".join(between[::2]).count(b",")


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first yields a body that was read already."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
