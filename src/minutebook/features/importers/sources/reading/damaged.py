"""JSON values of a text that may be damaged, read one after another."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

_EFFORT = 8
"""Failed attempts may read this many times the text's length; then its rest is given up."""

_LEAST_EFFORT, _ATTEMPT, _NESTING = 100_000, 100, 10_000
"""Characters: the least effort granted, the cost of a failed attempt, and that of one nested too deep."""

_BEGINNING = re.compile(r'\{\s*"')
_FOLLOWING = "{\0"
"""The characters that may follow a record: the beginning of the next one, or of a part that was never written."""

_DAMAGED = object()
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class JsonValue(NamedTuple):
    """A value, or None for a damaged part; it begins `lines` line ends after the one before it."""

    value: Any
    lines: int
    is_whole: bool


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_refuse)
"""Reads JSON as it is specified: without NaN and infinity."""


def values_in(text: str, fields: tuple[str, ...] = (), between: str = "") -> Iterator[JsonValue]:
    """Yield the values of a text in order, and each damaged part once.

    Values are separated by blanks and the characters in `between`. After damage the next record is the next
    object that has the `fields` and is followed by another or by the end: one that anything else follows
    is part of a record that was cut off. Characters from U+DC80 to U+DCFF stand for bytes that
    were not UTF-8. Takes linear time.
    """
    blanks = re.compile(rf"[\s{re.escape(between)}]*")
    effort_left = _EFFORT * len(text) + _LEAST_EFFORT
    at, lines_counted_to, is_damaged = _end(blanks.match(text)), 0, False
    while at < len(text):
        try:
            value, end = DECODER.raw_decode(text, at)
            following = _end(blanks.match(text, end))
        except (ValueError, RecursionError) as error:
            effort_left -= _ATTEMPT + _cost(error, len(text))
            value, end, following = _DAMAGED, at + 1, at + 1
            # A damaged part is yielded once, where it begins.
            is_found, is_damaged = not is_damaged, True
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
            lines = text.count("\n", lines_counted_to, at)
            yield JsonValue(value if is_whole else None, lines, is_whole)
            lines_counted_to = at
        if is_damaged:
            found = _BEGINNING.search(text, following) if effort_left > 0 else None
            following = len(text) if found is None else found.start()
        at = following


def _end(match: re.Match[str] | None) -> int:
    return 0 if match is None else match.end()


def _cost(error: ValueError | RecursionError, length: int) -> int:
    """Return how many characters a failed attempt read, at most."""
    if isinstance(error, json.JSONDecodeError):
        return length if error.msg.startswith("Unterminated") else error.pos
    return _NESTING if isinstance(error, RecursionError) else length
