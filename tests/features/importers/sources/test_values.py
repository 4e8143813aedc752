"""Times of other programs and people are read as they mean them, or named; never taken for another."""

from datetime import UTC, datetime

import pytest

from minutebook.features.importers.sources.reading.values import (
    first_time,
    instant_of,
    unread_times,
)
from minutebook.record.writing.source_drafts import SourcePlace

MAY = datetime(2024, 5, 1, tzinfo=UTC)
HALF_PAST_TEN = datetime(2024, 5, 1, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        *("2024-05-01", "2024-05-01T02:00:00+02:00", "2024-5-1", "2024/05/01", "2024.05.01"),
        *("May 1, 2024", "May 1st 2024", "may 1 2024", "Wednesday, May 1, 2024", "Wed 1 May 2024"),
        *("1 May 2024", "1. Mai 2024", "Mittwoch, 1. Mai 2024", "01.05.2024", "1.5.2024"),
        *(20240501, "20240501", 1714521600, 1714521600.0, "1714521600", 1714521600000),
        *("1714521600000", "Wed, 01 May 2024 02:00:00 +0200"),
    ],
)
def test_a_day_is_read_as_people_and_programs_write_it(value: object) -> None:
    assert instant_of(value) == MAY


@pytest.mark.parametrize(
    "value",
    [
        *("2024-05-01 10:30", "2024-05-01 10:30 AM", "Wednesday, May 1st 2024, 10:30:00 am"),
        *("May 1, 2024 at 10:30 AM", "1 May 2024 10:30 UTC", 202405011030, "20240501103000"),
    ],
)
def test_a_time_of_day_is_read_with_its_day(value: object) -> None:
    assert instant_of(value) == HALF_PAST_TEN


@pytest.mark.parametrize(
    ("value", "day"),
    [
        *(("13/05/2024", 13), ("05/13/2024", 13), ("5/5/2024", 5)),
        ("Sept. 3, 2024", None),
        ("Sep. 3, 2024", None),
    ],
)
def test_a_date_with_one_reading_is_read(value: str, day: int | None) -> None:
    wanted = datetime(2024, 9, 3, tzinfo=UTC) if day is None else MAY.replace(day=day)
    assert instant_of(value) == wanted


UNREAD = [
    *("05/01/2024", "2026-02-30", "May 32, 2024", "April 31, 2024", "May 2024", "2024-05", "2024"),
    *(
        "yesterday",
        "10:30",
        "1 May",
        "nan",
        20241301,
        2024,
        630,
        0.5,
        -5,
        1e400,
        True,
        ["2024-05-01"],
    ),
]


@pytest.mark.parametrize("value", UNREAD)
def test_a_time_that_cannot_be_read_is_named_with_its_field(value: object) -> None:
    assert instant_of(value) is None
    fields = {"date": value, "created": "May 1, 2024", "other": value}
    ((place, reason),) = (
        (each.place, each.reason)
        for each in unread_times(SourcePlace("a"), fields, "date", "created")
    )
    assert (place, "`date`" in reason) == (SourcePlace("a"), True)
    assert first_time(fields, "date", "created") == MAY


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_a_field_without_a_time_is_not_named(value: object) -> None:
    assert not list(unread_times(SourcePlace("a"), {"date": value}, "date", "created"))
