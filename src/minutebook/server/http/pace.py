"""How many calls are taken on: at once by the server, and over time from each caller."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

BURST = 10.0
"""Seconds over which a rate is an average."""

KEPT = 1024
"""How many keys are remembered before those with nothing to remember are dropped."""


class Full(Exception):
    """As much is being done, or waits to be done, as may."""

    def __str__(self) -> str:
        return "The server has as many calls as it takes on; come again in a second"


class Queue:
    """Counts what is being done or waits, up to `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place; Full if none is left."""
        if self.taken >= self._most:
            raise Full
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


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
