"""Instants as they go over the wire."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from minutebook.record.instants import age_of, rfc3339


@pytest.mark.parametrize(
    ("instant", "told"),
    [
        (datetime(2026, 1, 6, 13, tzinfo=timezone(timedelta(hours=1))), "2026-01-06T12:00:00.000000Z"),
        (datetime(2026, 1, 6, 12, 0, 0, 7, tzinfo=UTC), "2026-01-06T12:00:00.000007Z"),
        (datetime(33, 4, 3, tzinfo=UTC), "0033-04-03T00:00:00.000000Z"),
    ],
)  # fmt: skip
def test_an_instant_is_told_in_utc_with_all_its_digits(instant: datetime, told: str) -> None:
    assert rfc3339(instant) == told


@pytest.mark.parametrize(
    ("ago", "told"),
    [
        (timedelta(seconds=-9), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=119), "1 hour ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=14), "2 weeks ago"),
        (timedelta(days=59), "8 weeks ago"),
        (timedelta(days=60), "2 months ago"),
        (timedelta(days=729), "24 months ago"),
        (timedelta(days=730), "2 years ago"),
    ],
)
def test_an_age_is_told_in_the_unit_that_suits_it(ago: timedelta, told: str) -> None:
    now = datetime(2026, 1, 6, 12, tzinfo=UTC)
    assert age_of(now - ago, now) == told
