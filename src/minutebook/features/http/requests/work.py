"""The work of a long call over HTTP: it has a budget, pauses for others, and ends with its connection."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import create_task_group
from starlette.requests import ClientDisconnect, Request

from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, WorkSpent

T = TypeVar("T")

BUDGET = 5.0
"""Seconds of processor time of one call in the name of a token."""

SLICE, PAUSE = 0.02, 0.01
"""Seconds of work after which a call pauses, and seconds of the pause, in which other threads run."""

AT_ONCE = 2
"""Long calls that are worked on at once, of all callers together."""


class Work:
    """The work of one call, as its `Progress`: raises Conflict once its client is gone, WorkSpent at the end of its budget.

    The owner of the machine, who comes without a token, has no budget.
    """

    def __init__(self, act: str, caller: Caller) -> None:
        self._act = act
        self._budget = BUDGET if caller.token else float("inf")
        self._is_left = False
        self._began: float | None = None
        self._paused = 0.0

    def leave(self) -> None:
        """Have the work end at its next progress, since its client is gone."""
        self._is_left = True

    def __call__(self, part: float, what: str) -> None:
        """Raise the error that ends the work, if any, and pause if it is time; called from the working thread."""
        now = time.thread_time()
        if self._began is None:
            self._began = self._paused = now
        if self._is_left:
            raise Conflict(self._act, "its client is gone")
        if now - self._began > self._budget:
            raise WorkSpent(self._act)
        if now - self._paused > SLICE:
            self._paused = now
            time.sleep(PAUSE)


async def while_connected(request: Request, work: Work, run: Callable[[], Awaitable[T]]) -> T:
    """Await the answer of `run` while the client is connected; its body was read. Raises ClientDisconnect if it leaves."""
    answers = list[T]()
    async with create_task_group() as group:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            work.leave()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        answers.append(await run())
        group.cancel_scope.cancel()
    if not answers:
        raise ClientDisconnect
    return answers[0]
