from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.records import Memory, MemoryType, ScopeLevel, Status
from minutebook.record.writing.validity import ended, holds_at

START = datetime(2026, 1, 6, 12, tzinfo=UTC)
instants = st.integers(-1, 3).map(lambda each: START + timedelta(seconds=each))


def memory(valid_from: datetime = START, valid_until: datetime | None = None) -> Memory:
    return Memory(
        organization="acme",
        id="m",
        content="c",
        scope=ScopeLevel.ORGANIZATION,
        type=MemoryType.SEMANTIC,
        status=Status.ACTIVE,
        author="a",
        event_time=START,
        ingestion_time=START,
        updated_at=START,
        valid_from=valid_from,
        valid_until=valid_until,
    )


intervals = st.builds(memory, instants, st.none() | instants)


@pytest.mark.parametrize(
    ("seconds", "holds"), [(-1, False), (0, True), (1, True), (2, False), (3, False)]
)
def test_a_memory_holds_from_its_start_until_before_its_end(seconds: int, holds: bool) -> None:
    asked = memory(valid_until=START + timedelta(seconds=2))
    assert holds_at(asked, START + timedelta(seconds=seconds)) is holds


def test_a_memory_without_an_end_holds_on() -> None:
    assert holds_at(memory(), datetime.max.replace(tzinfo=UTC))


@given(intervals, instants, instants)
def test_an_ended_memory_held_before_as_it_did_and_never_holds_again(
    asked: Memory, now: datetime, at: datetime
) -> None:
    after = ended(asked, now, None, None)
    assert holds_at(after, at) == (holds_at(asked, at) and at < now)


@given(intervals, instants, instants)
def test_ending_twice_keeps_the_first_end(asked: Memory, now: datetime, later: datetime) -> None:
    once = ended(asked, now, "r", "s")
    again = ended(once, max(now, later), None, None)
    assert again == replace(once, updated_at=max(now, later))


@given(intervals, instants)
def test_an_end_is_never_before_the_start_by_our_doing(asked: Memory, now: datetime) -> None:
    after = ended(asked, now, None, None)
    assert after.valid_until is not None
    if asked.valid_until is None:
        assert after.valid_until == max(now, asked.valid_from)


def test_a_reason_and_a_successor_given_later_are_taken_over() -> None:
    once = ended(memory(), START, None, None)
    assert (once.reason, once.superseded_by, once.status) == (None, None, Status.ACTIVE)
    again = ended(once, START, "outdated", "n")
    assert (again.reason, again.superseded_by) == ("outdated", "n")
    assert again.status is Status.SUPERSEDED
