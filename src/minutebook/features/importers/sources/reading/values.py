"""Values in other programs' JSON, which may be of any type: read, or taken for absent."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from minutebook.domain.control_characters import cleaned

_LATEST_SECONDS = 32_503_680_000
"""The year 3000 in seconds since 1970; a greater number counts milliseconds."""


def text_at(item: Mapping[str, Any], *names: str) -> str:
    """Return the text of the first of these fields that holds one, else an empty text."""
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
    """Return the instant that ISO text, or a number of (milli)seconds since 1970, names; else None."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip())
            return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) > _LATEST_SECONDS else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def shown(value: object) -> str:
    """Return a value as text: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return cleaned(value)
    return cleaned(json.dumps(value, ensure_ascii=False))
