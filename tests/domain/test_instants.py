"""Instants as they go over the wire."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from minutebook.domain.instants import rfc3339


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
