"""Names and instants of turns, names of sessions and of their summaries."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput
from minutebook.record.writing.turns import (
    LONGEST_SESSION,
    check_session,
    instant_after,
    next_instant,
    summary_id,
    turn_id,
)
from tests.store.samples import START, turn

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
instants = st.integers(0, 4 * 10**15).map(lambda n: EPOCH + timedelta(microseconds=n))
names = st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=LONGEST_SESSION
)
owners = st.sampled_from([None, "a", "b"])


def test_an_id_tells_the_instant_to_the_microsecond_in_utc() -> None:
    at = datetime(2026, 1, 6, 13, 0, 0, 7, tzinfo=timezone(timedelta(hours=1)))
    assert turn_id(at) == "mem_2026-01-06T12:00:00.000007Z"


@given(instants, instants)
def test_ids_sort_as_their_instants(one: datetime, other: datetime) -> None:
    assert (turn_id(one) < turn_id(other)) == (one < other)


@given(st.integers(-3, 3))
def test_the_next_turn_is_later_than_the_last_whatever_the_clock_says(ticks: int) -> None:
    now = START + timedelta(microseconds=ticks)
    at = instant_after(now, turn(at=START))
    assert at > START
    assert at == now or now <= START
    assert turn_id(next_instant(at)) > turn_id(at)


def test_a_sessions_first_turn_is_now() -> None:
    assert instant_after(START, None) == START


@given(names)
def test_any_name_that_can_be_read_names_a_session(name: str) -> None:
    check_session(name)


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_SESSION + 1), "a\tb", "\x7f", "\udfff"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_session(name)


def test_a_summary_is_named_for_its_session() -> None:
    assert summary_id("session_1", None, None) == "summary_session_1"


@given(names, owners, owners, names, owners, owners)
def test_summaries_of_different_sessions_have_different_ids(
    one: str,
    repository: str | None,
    user: str | None,
    other: str,
    place: str | None,
    who: str | None,
) -> None:
    ids = summary_id(one, repository, user), summary_id(other, place, who)
    assert (ids[0] == ids[1]) == ((one, repository, user) == (other, place, who))
    assert all(len(id.encode()) <= 200 for id in ids)
