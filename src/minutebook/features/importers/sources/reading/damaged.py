"""JSON values of a text that may be damaged, read one after another."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

_EFFORT = 8
"""How often as many characters as the text has may be read in vain; then its rest is given up."""

_LEAST_EFFORT, _ATTEMPT, _NESTING = 100_000, 100, 10_000
"""Characters that are always granted, that each attempt costs, and that one too deep costs."""

_BEGINNING = re.compile(r'\{\s*"')
_FOLLOWING = "{\0"
"""The signs that may follow a record: the next one, or a part that was never written."""

_DAMAGED = object()
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class JsonValue(NamedTuple):
    """A value, or None for a damaged part, and how many lines below the one before it begins."""

    value: Any
    lines: int
    is_whole: bool


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_refuse)
"""Reads JSON as it is specified: without NaN and infinity."""


def values_in(text: str, fields: tuple[str, ...] = (), between: str = "") -> Iterator[JsonValue]:
    """Yield the values of a text in order, and each damaged part once.

    Between values stand blanks and the signs `between`. Behind damage the next record is the next
    object that has the `fields` and is followed by another or by the end: what anything else follows
    is a part of a record that was cut. Characters of the range U+DC80 to U+DCFF stand for bytes that
    were not UTF-8. Takes linear time.
    """
    blanks = re.compile(rf"[\s{re.escape(between)}]*")
    left = _EFFORT * len(text) + _LEAST_EFFORT
    at, counted, is_damaged = _end(blanks.match(text)), 0, False
    while at < len(text):
        try:
            value, end = DECODER.raw_decode(text, at)
            following = _end(blanks.match(text, end))
        except (ValueError, RecursionError) as error:
            left -= _ATTEMPT + _cost(error, len(text))
            is_found, value, end, following = not is_damaged, _DAMAGED, at + 1, at + 1
            is_damaged = True
        else:
            is_record = isinstance(value, dict) and all(name in value for name in fields)
            is_found = not is_damaged or (
                is_record and text[following : following + 1] in _FOLLOWING
            )
            is_damaged = is_damaged and not is_found
        if is_found:
            is_whole = value is not _DAMAGED and (
                text.isascii() or _NOT_UTF8.search(text, at, end) is None
            )
            yield JsonValue(value if is_whole else None, text.count("\n", counted, at), is_whole)
            counted = at
        if is_damaged:
            found = _BEGINNING.search(text, following) if left > 0 else None
            following = len(text) if found is None else found.start()
        at = following


def _end(match: re.Match[str] | None) -> int:
    return 0 if match is None else match.end()


def _cost(error: ValueError | RecursionError, length: int) -> int:
    """Return how many characters were read, at most, before a value turned out to be none."""
    if isinstance(error, json.JSONDecodeError):
        return length if error.msg.startswith("Unterminated") else error.pos
    return _NESTING if isinstance(error, RecursionError) else length
