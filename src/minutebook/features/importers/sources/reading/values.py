"""Readers of values in other programs' JSON; a value of an unexpected type counts as absent."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from minutebook.record.control_characters import cleaned
from minutebook.record.writing.source_drafts import (
    EntityDraft,
    RelationDraft,
    SourcePlace,
    UnreadPart,
)


def entity_draft(
    program: str, place: SourcePlace, name: str, type: str, **more: Any
) -> EntityDraft:
    """Return the draft of an entity, with `more` fields as the source has them."""
    key = f"entity\0{type}\0{name}"
    return EntityDraft(key=key, place=place, program=program, name=name, type=type, **more)


def relation_draft(
    program: str, place: SourcePlace, source: str, type: str, target: str, **more: Any
) -> RelationDraft:
    """Return the draft of a relation between two entities, by their names."""
    more |= {"key": f"relation\0{source}\0{type}\0{target}", "place": place, "program": program}
    return RelationDraft(source=source, target=target, type=type, **more)


_EARLIEST_SECONDS = 100_000_000
"""The year 1973 in seconds since 1970; a smaller number is another count, such as a year."""

_LATEST_SECONDS = 32_503_680_000
"""The year 3000 in seconds since 1970; a greater number counts milliseconds."""


def text_at(item: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that holds a text, else an empty text."""
    for name in names:
        value = item.get(name)
        if isinstance(value, str) and value:
            return cleaned(value)
    return ""


def object_at(item: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object that a field holds, else an empty one."""
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def objects_at(item: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of the list that a field holds."""
    value = item.get(name)
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


def instant_of(value: object) -> datetime | None:
    """Return the instant that a text or a number names, in UTC if it names no zone; None if it names none.

    A text is a number, or a date in the form of ISO 8601, of RFC 5322 or as people write it. A number consists of a
    date's digits (20240501), or counts seconds or milliseconds since 1970. An ambiguous date (05/01/2024) names none.
    """
    try:
        if isinstance(value, str):
            text = value.strip()
            read = instant_of(float(text)) if _NUMBER.fullmatch(text) else _of_text(text)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            read = _of_digits(f"{value:.0f}") or _of_seconds(value)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    if read is None:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)


_NUMBER = re.compile(r"-?\d{1,19}(?:\.\d+)?")
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_WEEKDAY = re.compile(r"(?i)(?:[^\W\d]+\.?,|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?)\s+")
_IGNORED = re.compile(r"(?i),|(?<=\d)(?:st|nd|rd|th|\.(?=\s))|(?<=[^\W\d])\.|\bat\s|\s(?:UTC|GMT)$")
"""Parts of a date that are ignored: the endings of `1st`, `1.` and `Sep.`, the word `at`."""
_MONTHS = {
    "januar": "Jan",
    "februar": "Feb",
    "märz": "Mar",
    "mai": "May",
    "juni": "Jun",
    "juli": "Jul",
}
_MONTHS |= {"sept": "Sep", "oktober": "Oct", "okt": "Oct", "dezember": "Dec", "dez": "Dec"}
_DAYS = (
    *("%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y"),
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def _of_digits(digits: str) -> datetime | None:
    """Return the instant that a number spells, of 1900 to 2099; None if it spells none."""
    form = _DIGITS.get(len(digits))
    if form is None or digits[:2] not in ("19", "20"):
        return None
    try:
        return datetime.strptime(digits, form)  # noqa: DTZ007 - the caller gives it a zone
    except ValueError:
        return None


def _of_seconds(number: float) -> datetime | None:
    seconds = number / 1000 if number > _LATEST_SECONDS else number
    return datetime.fromtimestamp(seconds, UTC) if seconds >= _EARLIEST_SECONDS else None


def _of_text(text: str) -> datetime | None:
    """Return the time that a text has in one of the known forms. Raises ValueError if it has none of them."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    words = _IGNORED.sub(" ", _WEEKDAY.sub("", text[:100], count=1)).split()
    plain = " ".join(_MONTHS.get(word.lower(), word) for word in words)
    if (slashed := _SLASHED.match(plain)) is not None:
        one, two = int(slashed[1]), int(slashed[2])
        if one <= 12 and two <= 12 and one != two:
            return None
        day, month = (one, two) if two <= 12 else (two, one)
        plain = f"{slashed[3]}/{month}/{day}{plain[slashed.end() :]}"
    for form in (day + clock for day in _DAYS for clock in _CLOCKS):
        try:
            return datetime.strptime(plain, form)  # noqa: DTZ007 - the caller gives it a zone
        except ValueError:
            continue
    return parsedate_to_datetime(text)


def first_time(fields: Mapping[str, Any], *names: str) -> datetime | None:
    """Return the time in the first of these fields that holds one; None if none does."""
    instants = (instant_of(fields.get(name)) for name in names)
    return next((instant for instant in instants if instant is not None), None)


def unread_times(
    place: SourcePlace, fields: Mapping[str, Any], *names: str
) -> Iterator[UnreadPart]:
    """Yield an UnreadPart for each of these fields that is filled, but not with a time."""
    for name in names:
        value = fields.get(name)
        if value not in (None, "", [], {}) and instant_of(value) is None:
            yield UnreadPart(place, f"the time in `{name}` cannot be read: {shown(value)[:60]!r}")


def unpacked(value: object) -> Any:
    """Return the JSON value that a text holds; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def shown(value: object) -> str:
    """Return a value as text: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return cleaned(value)
    return cleaned(json.dumps(value, ensure_ascii=False))
