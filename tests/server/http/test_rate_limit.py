"""How many calls are taken on, at once and over time."""

import pytest

from minutebook.domain.caller import Caller
from minutebook.domain.records import Role
from minutebook.server.http.rate_limit import BURST, KEPT, Pace, Queue
from minutebook.server.limits import Full

OWNER = Caller(name="root", role=Role.HUMAN)


def bearer(token: str) -> Caller:
    return Caller(name="ci", role=Role.AGENT, token=token)


class Seconds:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def through(pace: Pace, key: str, tries: int) -> int:
    return sum(pace.wait(key) == 0 for _ in range(tries))


def test_a_key_may_come_at_its_rate_on_average_over_the_burst() -> None:
    clock = Seconds()
    pace = Pace(2.0, clock)
    assert through(pace, "a", 100) == 2 * BURST
    clock.now += 3.0
    assert through(pace, "a", 100) == 6
    clock.now += 1000.0
    assert through(pace, "a", 100) == 2 * BURST


def test_who_waits_as_long_as_told_is_let_through() -> None:
    clock = Seconds()
    pace = Pace(0.3, clock)
    for _ in range(50):
        wait = pace.wait("a")
        clock.now += wait
        assert wait == 0 or pace.wait("a") == 0


def test_keys_do_not_stand_in_each_others_way() -> None:
    pace = Pace(0.1, Seconds())
    assert [pace.wait("a"), pace.wait("b")] == [0, 0]
    assert pace.wait("a") > 0
    assert pace.wait("b") > 0


def test_no_rate_lets_everything_through() -> None:
    assert through(Pace(0.0, Seconds()), "a", 1000) == 1000


def test_keys_that_have_all_their_rate_again_are_forgotten_and_others_are_not() -> None:
    clock = Seconds()
    pace = Pace(1.0, clock)
    for number in range(KEPT):
        pace.wait(f"old {number}")
    clock.now += 1000.0
    through(pace, "busy", 1000)
    pace.wait("last")
    assert len(pace._left) <= 2
    assert pace.wait("busy") > 0


def test_a_queue_has_so_many_places_and_gives_them_again() -> None:
    queue = Queue(2)
    with queue.place(OWNER), queue.place(OWNER):
        with pytest.raises(Full), queue.place(OWNER):
            raise AssertionError
        assert queue.taken == 2
    with pytest.raises(ValueError), queue.place(OWNER):
        raise ValueError
    assert queue.taken == 0


def test_a_bearer_holds_a_quarter_of_the_places_and_leaves_the_others() -> None:
    queue, ana, ben = Queue(8), bearer("t1"), bearer("t2")
    with queue.place(ana), queue.place(ana):
        with pytest.raises(Full, match="yours"), queue.place(ana):
            raise AssertionError
        with queue.place(ben):
            assert queue.taken == 3
    with queue.place(ana):
        assert queue.taken == 1
