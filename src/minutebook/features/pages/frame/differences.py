"""Compare two texts word by word."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

MOST_WORDS = 3_000
"""Words of two texts together up to which words are compared; beyond it lines are."""

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class TextChange(StrEnum):
    """The change of a stretch of text."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some text, and its change."""

    change: TextChange
    text: str


def differences(before: str, after: str) -> list[Stretch]:
    """Return both texts as one, in stretches that stayed, were removed, were added."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) + len(new) > MOST_WORDS:
        old, new = _LINES.findall(before), _LINES.findall(after)
    # Common words are not noise here: every one that was changed is to be seen.
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
