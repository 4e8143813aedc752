"""How many calls are taken on, at once and over time."""

import anyio
import pytest

from minutebook.record.caller import OWNER
from minutebook.serve.limits import (
    BURST,
    CROWDED_SECONDS,
    CROWDED_THREADS,
    KEPT,
    THREADS,
    ConcurrencyLimit,
    FairQueue,
    RateLimit,
    TooManyRequests,
    quota_of,
)


class Seconds:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def through(limit: RateLimit, key: str, tries: int) -> int:
    return sum(limit.wait(key) == 0 for _ in range(tries))


def test_a_key_may_come_at_its_rate_on_average_over_the_burst() -> None:
    clock = Seconds()
    limit = RateLimit(2.0, clock)
    assert through(limit, "a", 100) == 2 * BURST
    clock.now += 3.0
    assert through(limit, "a", 100) == 6
    clock.now += 1000.0
    assert through(limit, "a", 100) == 2 * BURST


def test_who_waits_as_long_as_told_is_let_through() -> None:
    clock = Seconds()
    limit = RateLimit(0.3, clock)
    for _ in range(50):
        wait = limit.wait("a")
        clock.now += wait
        assert wait == 0 or limit.wait("a") == 0


def test_keys_do_not_stand_in_each_others_way() -> None:
    limit = RateLimit(0.1, Seconds())
    assert [limit.wait("a"), limit.wait("b")] == [0, 0]
    assert limit.wait("a") > 0
    assert limit.wait("b") > 0


def test_no_rate_lets_everything_through() -> None:
    assert through(RateLimit(0.0, Seconds()), "a", 1000) == 1000


def test_keys_that_have_all_their_rate_again_are_forgotten_and_others_are_not() -> None:
    clock = Seconds()
    limit = RateLimit(1.0, clock)
    for number in range(KEPT):
        limit.wait(f"old {number}")
    clock.now += 1000.0
    through(limit, "busy", 1000)
    limit.wait("last")
    assert len(limit._buckets) <= 2
    assert limit.wait("busy") > 0


def test_a_limit_has_so_many_places_and_gives_them_again() -> None:
    limit = ConcurrencyLimit(2, 2, "too many of yours")
    with limit.hold(OWNER), limit.hold(OWNER):
        with pytest.raises(TooManyRequests, match="The server"), limit.hold(OWNER):
            raise AssertionError
        assert limit.held == 2
    with pytest.raises(ValueError), limit.hold(OWNER):
        raise ValueError
    assert limit.held == 0


def test_one_principal_holds_its_quota_and_leaves_the_others() -> None:
    limit = ConcurrencyLimit(8, quota_of(8), "too many of yours")
    with limit.hold("ana"), limit.hold("ana"):
        with pytest.raises(TooManyRequests, match="yours"), limit.hold("ana"):
            raise AssertionError
        with limit.hold("ben"):
            assert limit.held == 3
    with limit.hold("ana"):
        assert limit.held == 1


def test_a_quota_binds_the_owner_only_where_it_says_so() -> None:
    free, bound = (ConcurrencyLimit(None, 1, "yours", binds_owner=each) for each in (False, True))
    with free.hold(OWNER), free.hold(OWNER), bound.hold(OWNER):
        with pytest.raises(TooManyRequests, match="yours"), bound.hold(OWNER):
            raise AssertionError
        assert (free.held, bound.held) == (2, 1)


@pytest.mark.parametrize("other", ["other", OWNER])
def test_a_bearer_has_few_threads_while_another_calls_and_its_quarter_alone(other: str) -> None:
    clock = Seconds()
    threads = FairQueue(quota_of(THREADS), CROWDED_THREADS, THREADS, clock)

    async def flood() -> int:
        """Start more calls than may run, and count those that do before any has ended."""
        running = 0
        leave = anyio.Event()

        async def call() -> None:
            nonlocal running
            async with threads.hold("a"):
                running += 1
                await leave.wait()

        async with anyio.create_task_group() as group:
            for _ in range(THREADS):
                group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            at_work = running
            leave.set()
        return at_work

    async def floods() -> list[int]:
        found = [await flood()]
        async with threads.hold(other):
            found.append(await flood())
        found.append(await flood())
        clock.now += CROWDED_SECONDS + 1
        return [*found, await flood()]

    whole = quota_of(THREADS)
    assert anyio.run(floods) == [whole, CROWDED_THREADS, CROWDED_THREADS, whole]
