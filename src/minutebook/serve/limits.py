"""Limits: those of all callers together, the share of one principal, and the text of a refusal.

`Limits` is the table. A principal (`Caller.principal`) stays the same while secrets are
renewed. The owner, who comes without a token, is bound by what there is, not by a share of it.
"""

import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock

from anyio import CapacityLimiter, WouldBlock

from minutebook.record.caller import OWNER
from minutebook.record.reason import Reason

CALLS = 64
"""Calls over HTTP under way at once; further ones are refused with 429."""

STREAMS = 384
"""Streams over HTTP, all together; fewer than CONNECTIONS, so that some are left for calls."""

SESSIONS = 1000
"""Sessions over HTTP, all together and for each contract; one ends after half an hour unused."""

CONNECTIONS = 512
"""Connections over HTTP; a request over a further one is refused with 503."""

THREADS = 40
"""Worker threads: anyio's default."""

CROWDED_THREADS = 2
"""Threads of one token's bearer while others call, too: a further thread would only make those others wait."""

CROWDED_TURNS = 1
"""Requests over HTTP of one principal that are worked on at once while others call, too."""

LARGE_BODIES = 4
"""Large bodies of one principal that are read at once."""

TURN_SECONDS = 0.2
"""Seconds after which a request that is still under way gives up its turn to the next one."""

WAITING_REQUESTS = 256
"""Requests of one principal that wait for their turn."""

CROWDED_SECONDS = 10.0
"""Seconds after a call for which its caller still counts as calling."""

WAITING_CALLS = 100
"""Calls of one principal that wait for a thread, those of clients that have gone included."""

PAUSED_CALLS = 8
"""Calls of one principal that wait for the client's model between two requests."""

WATCHED_RESOURCES = 100
"""Resources that one connection or stream watches: each is read anew whenever anything changes."""

RESERVED_THREADS = 4
"""Threads for each of the tasks that must not wait for other calls: identifying callers, and `healthcheck`."""

BURST = 10.0
"""Seconds over which a rate is averaged."""

KEPT = 1024
"""Principals that a rate limit remembers before it forgets those that have their whole burst left."""


def quota_of(total: int) -> int:
    """Return how much of something shared one token's bearer may hold: a quarter, and one at least."""
    return max(1, total // 4)


class TooManyRequests(Exception):
    """A limit is reached; the message says which, and the remedy."""

    def __init__(self, reason: str, **values: object) -> None:
        self.reason = Reason(reason, **values)
        super().__init__(self.reason)


class ConcurrencyLimit:
    """Counts the calls under way: at most `total`, and of one principal at most `quota`."""

    def __init__(self, total: int | None, quota: int, exceeded: str, *, binds_owner: bool = False):
        self._total = total
        self._quota = quota
        self._exceeded = exceeded
        self._binds_owner = binds_owner
        self._held: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """The number of calls under way."""
        return self._held.total()

    def check_quota(self, principal: str, held: int) -> None:
        """Raise TooManyRequests if a principal that holds `held` calls may hold no more."""
        if held >= self._quota and (self._binds_owner or principal != OWNER):
            raise TooManyRequests(self._exceeded)

    @contextmanager
    def hold(self, principal: str) -> Iterator[None]:
        """Count one more call while it is under way. Raises TooManyRequests if the total or the principal's quota is used up."""
        if self._total is not None and self.held >= self._total:
            raise TooManyRequests(
                "The server has as many calls as it takes on; come again in a second"
            )
        self.check_quota(principal, self._held[principal])
        self._held[principal] += 1
        try:
            yield
        finally:
            self._held[principal] -= 1
            if not self._held[principal]:
                del self._held[principal]


class FairQueue:
    """Grants units of a shared resource, such as threads; each principal's requests wait in a queue of their own.

    A principal holds at most `alone` units, or `crowded` units while another has asked in the last
    CROWDED_SECONDS; the owner never waits. At most `waiting` requests wait in one queue.
    """

    def __init__(
        self, alone: float, crowded: int, waiting: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._alone, self._crowded, self._waiting = alone, crowded, waiting
        self._clock = clock
        self._queues: dict[str, CapacityLimiter] = {}
        self._called: dict[str, float] = {}

    @asynccontextmanager
    async def hold(self, principal: str) -> AsyncIterator[None]:
        """Hold one unit, after waiting for it. Raises TooManyRequests if the principal's queue is full."""
        holder = object()
        await self.take(principal, holder)
        try:
            yield
        finally:
            self.release(principal, holder)

    async def take(self, principal: str, holder: object) -> None:
        """Wait until the principal may have one more unit, and lend it to `holder` until `release`.

        Raises TooManyRequests if the principal's queue is full.
        """
        self._called[principal] = self._clock()
        self._divide()
        if principal == OWNER:
            return
        queue = self._queues.setdefault(principal, CapacityLimiter(self._share()))
        try:
            queue.acquire_on_behalf_of_nowait(holder)
        except WouldBlock:
            if queue.statistics().tasks_waiting >= self._waiting:
                raise TooManyRequests(
                    "Too many calls of yours wait already; await their answers"
                ) from None
            try:
                await queue.acquire_on_behalf_of(holder)
            except BaseException:
                self._drop(principal)
                raise

    def release(self, principal: str, holder: object) -> None:
        """Take back the unit that `take` lent to a holder."""
        if principal != OWNER:
            self._queues[principal].release_on_behalf_of(holder)
            self._drop(principal)
        self._divide()

    def _drop(self, principal: str) -> None:
        """Forget a principal's queue if it holds no unit and waits for none."""
        usage = self._queues[principal].statistics()
        if not (usage.borrowed_tokens or usage.tasks_waiting):
            del self._queues[principal]

    def _divide(self) -> None:
        """Set each queue's share by whether one or several principals called in the last CROWDED_SECONDS."""
        since = self._clock() - CROWDED_SECONDS
        self._called = {
            each: at for each, at in self._called.items() if at > since or each in self._queues
        }
        for queue in self._queues.values():
            queue.total_tokens = self._share()

    def _share(self) -> float:
        return self._crowded if len(self._called) > 1 else self._alone


class RateLimit:
    """Admits each principal `rate` times a second, on average over BURST seconds; 0: always."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = max(1.0, rate * BURST)
        self._clock = clock
        self._lock = Lock()
        # By principal the calls left, and the time at which they were counted.
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, principal: str) -> int:
        """Admit a principal and return 0, or return the whole seconds until it may come again."""
        if not self._rate:
            return 0
        with self._lock:
            now = self._clock()
            left = self._calls_left(principal, now)
            if left < 1.0:
                return math.ceil((1.0 - left) / self._rate)
            self._buckets[principal] = left - 1.0, now
            if len(self._buckets) > KEPT:
                self._buckets = {
                    each: bucket
                    for each, bucket in self._buckets.items()
                    if self._calls_left(each, now) < self._most
                }
            return 0

    def _calls_left(self, principal: str, now: float) -> float:
        left, counted_at = self._buckets.get(principal, (self._most, now))
        return min(self._most, left + (now - counted_at) * self._rate)


class Limits:
    """The limits of one server, each under its name.

    | limit | of all | of one principal | beyond it |
    | --- | --- | --- | --- |
    | `requests` | no limit | setting `rate_limit`, a second | HTTP 429 with Retry-After |
    | `calls` over HTTP | CALLS | a quarter | HTTP 429 |
    | `streams` over HTTP | STREAMS | a quarter | HTTP 429 |
    | `sessions` over HTTP | SESSIONS | a quarter | HTTP 429 |
    | `turns` of requests over HTTP | no limit | no limit, CROWDED_TURNS beside others; WAITING_REQUESTS wait | HTTP 429 |
    | `bodies` over HTTP, large ones | no limit | LARGE_BODIES; WAITING_REQUESTS wait | HTTP 429 |
    | `threads` | THREADS | a quarter, CROWDED_THREADS beside others; WAITING_CALLS wait | JSON-RPC −32603 |
    | `paused_calls` | no limit | PAUSED_CALLS, the owner's too | JSON-RPC −32603 |

    Of one connection: WATCHED_RESOURCES (JSON-RPC −32602). Of all: CONNECTIONS (HTTP 503).
    """

    def __init__(self, *, rate: float = 0.0) -> None:
        self.requests = RateLimit(rate)
        under_way = Reason("As many calls of yours are under way as one caller may have; await one")
        self.calls = ConcurrencyLimit(CALLS, quota_of(CALLS), under_way)
        self.streams = ConcurrencyLimit(STREAMS, quota_of(STREAMS), under_way)
        self.sessions = ConcurrencyLimit(
            None,
            quota_of(SESSIONS),
            Reason("As many sessions of yours are open as one caller may have; DELETE ends one"),
        )
        self.threads = FairQueue(quota_of(THREADS), CROWDED_THREADS, WAITING_CALLS)
        self.turns = FairQueue(math.inf, CROWDED_TURNS, WAITING_REQUESTS)
        self.bodies = FairQueue(LARGE_BODIES, LARGE_BODIES, WAITING_REQUESTS)
        self.paused_calls = ConcurrencyLimit(
            None,
            PAUSED_CALLS,
            Reason(
                "{count} calls of yours wait for your model's answer; go on with those",
                count=PAUSED_CALLS,
            ),
            binds_owner=True,
        )
