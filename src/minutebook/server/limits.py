"""What all callers share, and how much of it one may hold: nobody is to keep the others waiting."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from minutebook.domain.caller import Caller
from minutebook.domain.grants import principal

THREADS = 40
"""Threads that anyio works in by default."""

MOST_WAITING = 100
"""How many calls of one caller wait for a thread, of clients that have gone as well."""


def share_of(whole: int) -> int:
    """Give how much of what all share one token's bearer may hold: a quarter, and one at least."""
    return max(1, whole // 4)


class Full(MCPError):
    """As much is being done, or waits to be done, as may; the message says by whom."""

    def __init__(self, reason: str) -> None:
        super().__init__(INTERNAL_ERROR, reason)
        self.reason = reason


class Lines:
    """Has the calls of each token's bearer wait in a line of their own for the threads of all.

    A call works on in its thread when its client has hung up, so that counting requests is not
    enough. The owner, who comes without a token, has the threads to themselves.
    """

    def __init__(self) -> None:
        self._lines: dict[str, CapacityLimiter] = {}

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Wait until the caller may have one more thread; Full where too many calls wait for that."""
        if not caller.token:
            yield
            return
        name = principal(caller)
        line = self._lines.setdefault(name, CapacityLimiter(share_of(THREADS)))
        if line.statistics().tasks_waiting >= MOST_WAITING:
            raise Full("Too many calls of yours wait already; await their answers")
        try:
            async with line:
                yield
        finally:
            told = line.statistics()
            if self._lines.get(name) is line and not (told.borrowed_tokens or told.tasks_waiting):
                del self._lines[name]
