from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from minutebook.services.code.eta import WINDOW, Pace
from tests.world import NOON


def test_nothing_is_known_before_anything_moved() -> None:
    pace = Pace()
    assert pace.remaining() is None
    pace.note(0.5, NOON)
    assert pace.remaining() is None
    pace.note(0.5, NOON + timedelta(seconds=9))
    assert pace.remaining() is None


def test_the_rest_takes_as_long_as_the_rate_says() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    pace.note(0.25, NOON + timedelta(seconds=5))
    assert pace.remaining() == timedelta(seconds=15)


def test_the_rate_is_that_of_late() -> None:
    pace = Pace()
    pace.note(0.0, NOON)
    for second in range(1, 101):
        pace.note(0.5, NOON + timedelta(seconds=second))
    assert pace.remaining() is None
    pace.note(0.75, NOON + timedelta(seconds=101))
    remaining = pace.remaining()
    assert remaining is not None
    assert WINDOW <= remaining <= WINDOW + timedelta(seconds=2)


def test_going_back_starts_anew() -> None:
    pace = Pace()
    pace.note(0.9, NOON)
    pace.note(0.1, NOON + timedelta(seconds=1))
    assert pace.remaining() is None


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 90)), max_size=20))
def test_what_remains_is_never_negative(noted: list[tuple[float, int]]) -> None:
    pace, at = Pace(), NOON
    for done, seconds in noted:
        at += timedelta(seconds=seconds)
        pace.note(done, at)
        remaining = pace.remaining()
        assert remaining is None or remaining >= timedelta(0)
