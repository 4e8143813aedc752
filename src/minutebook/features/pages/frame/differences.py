"""Compare two texts word by word."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

MOST_WORDS = 3_000
"""The most words of two texts together that are compared word by word; longer texts are compared line by line."""

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class TextChange(StrEnum):
    """The change of a part of a text."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text, and its change."""

    change: TextChange
    text: str


def differences(before: str, after: str) -> list[Stretch]:
    """Return two texts as one, in parts that are in both, only in the first, or only in the second."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) + len(new) > MOST_WORDS:
        old, new = _LINES.findall(before), _LINES.findall(after)
    # Not `autojunk`: a change of a frequent word must be seen, too.
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return list(_stretches(matcher, old, new))


def _stretches(
    matcher: "SequenceMatcher[str]", old: list[str], new: list[str]
) -> Iterator[Stretch]:
    for name, a, b, c, d in matcher.get_opcodes():
        if name == "equal":
            yield Stretch(TextChange.SAME, "".join(old[a:b]))
            continue
        if a < b:
            yield Stretch(TextChange.REMOVED, "".join(old[a:b]))
        if c < d:
            yield Stretch(TextChange.ADDED, "".join(new[c:d]))
