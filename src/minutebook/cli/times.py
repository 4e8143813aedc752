"""Read the times and spans that a person types."""

import re
from datetime import UTC, datetime, timedelta

from minutebook.domain.errors import InvalidInput

_SPAN = re.compile(r"(\d{1,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def time_given(option: str, text: str | None, *, ahead: bool = False) -> datetime | None:
    """Return the instant that a text names, or the one a span ago (`ahead`: from now); None for None.

    Raises InvalidInput if the text is neither.
    """
    if text is None:
        return None
    span = span_given(text)
    if span is None:
        return instant_given(option, text)
    return datetime.now(UTC) + (span if ahead else -span)


def span_given(text: str) -> timedelta | None:
    """Read a span of time as 30m, 12h or 7d; None for another text."""
    match = _SPAN.fullmatch(text)
    return None if match is None else timedelta(**{_UNITS[match[2]]: int(match[1])})


def instant_given(option: str, text: str) -> datetime:
    """Return the instant that a text names, in the local zone unless the text names one.

    Raises InvalidInput if it names none.
    """
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        remedy = (
            "must be a time like 2026-01-31T12:00, or a span like 30m, 12h or 7d (got {given!r})"
        )
        raise InvalidInput(option, remedy, given=text) from error
