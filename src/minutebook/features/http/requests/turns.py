"""The turn of a request: while several call, the next request of one holder waits for its last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from minutebook.server.limits import TURN_SECONDS, FairQueue


class RequestTurn:
    """The turn of one request; it may be given back and taken again."""

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
    """Leave the turn of a request to others while its client is waited for."""
    turn: RequestTurn | None = getattr(request.state, "turn", None)
    if turn is not None:
        turn.release()
    yield
    if turn is not None:
        await turn.take()
