"""How many calls are taken on: at once by the server, and over time from each caller."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from minutebook.domain.caller import Caller
from minutebook.domain.grants import principal
from minutebook.server.limits import Full, share_of

BURST = 10.0
"""Seconds over which a rate is an average."""

KEPT = 1024
"""How many keys are remembered before those with nothing to remember are dropped."""


class Queue:
    """Counts what is being done or waits, up to `most`, and of one caller up to their share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self.taken = 0

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """Hold a place; Full if none is left, or the caller holds all that one may."""
        if self.taken >= self._most:
            raise Full("The server has as many calls as it takes on; come again in a second")
        holder = principal(caller)
        if caller.token and self._held[holder] >= share_of(self._most):
            raise Full("As many calls of yours are under way as one caller may have; await one")
        self.taken += 1
        self._held[holder] += 1
        try:
            yield
        finally:
            self.taken -= 1
            self._held[holder] -= 1
            if not self._held[holder]:
                del self._held[holder]


class Pace:
    """Lets each key through `rate` times a second, on average over BURST seconds; 0: always."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = max(1.0, rate * BURST)
        self._clock = clock
        self._lock = Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def wait(self, key: str) -> int:
        """Let a key through and give 0, or give the whole seconds until it may come again."""
        if not self._rate:
            return 0
        with self._lock:
            now = self._clock()
            left = self._now_left(key, now)
            if left < 1.0:
                return math.ceil((1.0 - left) / self._rate)
            self._left[key] = left - 1.0, now
            if len(self._left) > KEPT:
                self._left = {
                    each: kept
                    for each, kept in self._left.items()
                    if self._now_left(each, now) < self._most
                }
            return 0

    def _now_left(self, key: str, now: float) -> float:
        left, at = self._left.get(key, (self._most, now))
        return min(self._most, left + (now - at) * self._rate)
