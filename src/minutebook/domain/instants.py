"""Instants as text."""

from datetime import UTC, datetime


def to_the_second(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, to the second, with `Z`."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return f"{text}Z"


def rfc3339(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, with microseconds and `Z`, as it goes over the wire."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{text}Z"
