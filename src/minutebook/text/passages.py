"""Cut the passage that answers from a long text, at ends of sentences, and share a budget of tokens among passages."""

import re
from collections.abc import Sequence
from itertools import accumulate
from math import ceil
from unicodedata import east_asian_width

CHARACTERS_A_TOKEN = 4
"""The approximate number of characters of a token; English has a few more, code fewer, scripts without spaces one."""

PASSAGE_TOKENS = 110
"""The approximate number of tokens of a passage: one statement with its context."""

ROOM = 1.3
"""A text longer than a passage by no more than this factor is not cut: reading the rest later would cost more."""

_ELLIPSIS = "…"
_END = re.compile(r"(?<=[.!?…。！？])[\s\"'”’)]*\s|[。！？]|\n+")
_WIDE = "WF"

Part = tuple[float, float]
"""The begin and end of a part of a text, as shares of its letters and digits."""


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    if text.isascii():
        return ceil(len(text) / CHARACTERS_A_TOKEN)
    wide = sum(east_asian_width(c) in _WIDE for c in text)
    return ceil((len(text) - wide) / CHARACTERS_A_TOKEN) + wide


def passage(text: str, part: Part, tokens: int) -> str:
    """Return about `tokens` tokens of a text around a part of it, with an ellipsis at each end where text is left out."""
    whole = text.strip()
    size = count_tokens(whole)
    if size <= tokens * ROOM:
        return whole
    length = max(1, tokens * len(whole) // size)
    first, last = (_place(whole, share) for share in part)
    begin = max(0, min((first + last - length) // 2, len(whole) - length))
    end = begin + length
    reach = length // 4
    begin = _start(whole, begin, reach)
    end = _stop(whole, end, reach)
    before = f"{_ELLIPSIS} " if begin else ""
    after = f" {_ELLIPSIS}" if end < len(whole) else ""
    return f"{before}{whole[begin:end].strip()}{after}"


def allowance(sizes: Sequence[int], budget: int) -> int:
    """Return the greatest size, in tokens, to which texts of these sizes must be cut to fit together in a budget."""
    left, remaining = budget, len(sizes)
    for size in sorted(sizes):
        if size * remaining > left:
            return max(0, left // remaining)
        left -= size
        remaining -= 1
    return max(sizes, default=0)


def _place(text: str, share: float) -> int:
    """Return the position in a text after a share of its letters and digits."""
    passed = list(accumulate(map(str.isalnum, text), initial=0))
    target = share * passed[-1]
    return next((at for at, count in enumerate(passed) if count >= target), len(text))


def _start(text: str, at: int, reach: int) -> int:
    """Return the beginning of a sentence near a position, else that of a word after it."""
    if at <= reach:
        return 0
    near = text[at - reach : at + reach]
    ends = [at - reach + each.end() for each in _END.finditer(near)]
    if ends:
        return min(ends, key=lambda end: abs(end - at))
    space = text.find(" ", at, at + reach)
    return at if space < 0 else space + 1


def _stop(text: str, at: int, reach: int) -> int:
    """Return the end of a sentence near a position, else that of a word before it."""
    if at + reach >= len(text):
        return len(text)
    near = text[at - reach : at + reach]
    ends = [at - reach + each.end() for each in _END.finditer(near)]
    if ends:
        return min(ends, key=lambda end: abs(end - at))
    space = text.rfind(" ", at - reach, at)
    return at if space < 0 else space
