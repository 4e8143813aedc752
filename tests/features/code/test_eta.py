from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.code.indexing import WINDOW, Pace
from tests.world import NOON


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def test_nothing_is_known_before_anything_moved() -> None:
    pace = Pace()
    assert pace.remaining(NOON) is None
    pace.note(0.5, NOON)
    assert pace.remaining(NOON) is None
    pace.note(0.5, NOON + seconds(9))
    assert pace.remaining(NOON + seconds(9)) is None


def test_the_rest_takes_as_long_as_the_rate_says() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    pace.note(0.25, NOON + seconds(5))
    assert pace.remaining(NOON + seconds(5)) == seconds(15)


def test_the_estimate_shrinks_while_the_next_part_is_made() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    pace.note(0.25, NOON + seconds(5))
    pace.note(0.25, NOON + seconds(8))
    assert pace.remaining(NOON + seconds(9)) == seconds(11)


def test_work_that_stands_still_has_no_estimate() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    pace.note(0.01, NOON + seconds(5))
    assert pace.remaining(NOON + seconds(5) + WINDOW) is not None
    assert pace.remaining(NOON + seconds(6) + WINDOW) is None


def test_a_part_that_takes_longer_than_the_window_is_waited_for() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    pace.note(0.1, NOON + seconds(60))
    assert pace.remaining(NOON + seconds(130)) == seconds(470)


def test_the_rate_is_that_of_late() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    for second in range(1, 101):
        pace.note(second / 1000, NOON + seconds(second))
    pace.note(0.4, NOON + seconds(101))
    remaining = pace.remaining(NOON + seconds(101))
    # 0.33 in the last half minute, where the average of all is 0.004 a second.
    assert remaining is not None
    assert WINDOW <= remaining <= 2 * WINDOW


def test_going_back_starts_anew() -> None:
    pace = Pace()
    pace.note(0.9, NOON)
    pace.note(0.1, NOON + seconds(1))
    assert pace.remaining(NOON + seconds(1)) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 90)), max_size=20))
def test_what_remains_is_never_negative(noted: list[tuple[float, int]]) -> None:
    pace, at = Pace(), NOON
    for done, step in noted:
        at += seconds(step)
        pace.note(done, at)
        for later in (0, 1, 20, 100):
            remaining = pace.remaining(at + seconds(later))
            assert remaining is None or remaining >= timedelta(0)
