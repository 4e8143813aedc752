"""Instants as text."""

from datetime import UTC, date, datetime, time, timedelta

from minutebook.record.reason import count_of

_HOUR, _DAY = 3600, 86400
_UNITS = (
    (365 * _DAY, 2 * 365 * _DAY, "year"),
    (30 * _DAY, 60 * _DAY, "month"),
    (7 * _DAY, 14 * _DAY, "week"),
    (_DAY, _DAY, "day"),
    (_HOUR, _HOUR, "hour"),
    (60, 60, "minute"),
)
"""Units of an age: seconds of the unit, the least age in seconds that is counted in it, and its name."""


def to_the_second(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, to the second, with `Z`."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return f"{text}Z"


def rfc3339(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, with microseconds and `Z`, as it goes over the wire."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{text}Z"


def moment_of(text: str, *, ends: bool = False) -> datetime:
    """Return the instant that a text names: an instant, or of a day its start, or with `ends` its end.

    A text without a zone is in UTC. Raises ValueError or OverflowError if it is neither.
    """
    if len(text) <= len("2026-01-31"):
        begins = datetime.combine(date.fromisoformat(text), time(), UTC)
        return begins + timedelta(days=1) if ends else begins
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


MAX_CLOCK_SKEW = timedelta(minutes=5)
"""How far another machine's clock may be ahead of ours."""


def is_ahead(instant: datetime, now: datetime) -> bool:
    """Tell whether an instant is in the future, by more than clocks differ."""
    return instant > now + MAX_CLOCK_SKEW


def capped_at_now(instant: datetime, now: datetime) -> datetime:
    """Return an instant that a file claims, or now if that is in the future."""
    return now if is_ahead(instant, now) else instant


def age_of(instant: datetime, now: datetime) -> str:
    """Say how long ago an instant was: `3 days ago`; `just now` if that is less than a minute, or in the future."""
    seconds = (now - instant).total_seconds()
    for unit, least, name in _UNITS:
        if seconds >= least:
            return f"{count_of(int(seconds // unit), name)} ago"
    return "just now"
