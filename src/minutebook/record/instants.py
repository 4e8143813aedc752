"""Instants as text."""

from datetime import UTC, date, datetime, time, timedelta

from minutebook.record.reason import count_of

_HOUR, _DAY = 3600, 86400
_SPANS = (
    (365 * _DAY, 2 * 365 * _DAY, "year"),
    (30 * _DAY, 60 * _DAY, "month"),
    (7 * _DAY, 14 * _DAY, "week"),
    (_DAY, _DAY, "day"),
    (_HOUR, _HOUR, "hour"),
    (60, 60, "minute"),
)
"""Seconds of a span of time, the age in seconds from which on it is counted in, and its name."""


def to_the_second(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, to the second, with `Z`."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return f"{text}Z"


def rfc3339(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, with microseconds and `Z`, as it goes over the wire."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{text}Z"


def moment_of(text: str, *, ends: bool = False) -> datetime:
    """Read a day or an instant, in UTC where it names no zone; of a day its begin, or with `ends` its end.

    Raises ValueError or OverflowError if it is neither.
    """
    if len(text) <= len("2026-01-31"):
        begins = datetime.combine(date.fromisoformat(text), time(), UTC)
        return begins + timedelta(days=1) if ends else begins
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


CLOCKS_DIFFER = timedelta(minutes=5)
"""By how much a date may lie ahead of this machine's clock."""


def is_ahead(instant: datetime, now: datetime) -> bool:
    """Tell whether an instant has not come yet, even by another machine's clock."""
    return instant > now + CLOCKS_DIFFER


def not_ahead(instant: datetime, now: datetime) -> datetime:
    """Return an instant as it is believed of a file: now, in the place of one that has not come yet."""
    return now if is_ahead(instant, now) else instant


def age_of(instant: datetime, now: datetime) -> str:
    """Say how long ago an instant was: `3 days ago`; `just now` if that is less than a minute, or ahead."""
    seconds = (now - instant).total_seconds()
    for span, least, name in _SPANS:
        if seconds >= least:
            return f"{count_of(int(seconds // span), name)} ago"
    return "just now"
