"""Cut the excerpt that answers a query from a text, and return the words that matched."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from minutebook.text.words import TextQuery, forms, languages_of, parse_query

READ = 8_000
"""The number of a text's first characters that are searched for matches."""

Part = tuple[str, bool]
"""A part of a text, and whether it matched the query."""

Span = tuple[int, int]
"""The begin and end of a word in a text."""

_WORD = re.compile(r"\w+(?:['’._-]\w+)*")


def sought_terms(query: str) -> frozenset[str]:
    """Return the terms of a query, those of its phrases included."""
    parsed: TextQuery = parse_query(query)
    return frozenset([*parsed.terms, *(term for each in parsed.phrases for term in each)])


def matched_words(text: str, terms: AbstractSet[str]) -> tuple[str, ...]:
    """Return the words of a text that match some terms, each once, in the order of their first matches."""
    return _words_at(text, matches(text, terms))


def excerpt(text: str, terms: AbstractSet[str], length: int) -> list[Part]:
    """Cut about `length` characters around the first match; each part says whether it is a match."""
    return _cut(text, matches(text, terms), length)


def excerpt_and_words(
    content: str, text: str, terms: AbstractSet[str], length: int
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Return the `excerpt` of a record's content, and the `matched_words` of its whole text."""
    places = matches(content, terms)
    words = _words_at(text, places) if text == content else matched_words(text, terms)
    return tuple(_cut(content, places, length)), words


def _words_at(text: str, places: Iterable[Span]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text[a:b].lower() for a, b in places))


def _cut(text: str, places: Sequence[Span], length: int) -> list[Part]:
    whole = text[:READ]
    begin = _beginning(whole, places[0][0] if places else 0, length)
    end = _ending(whole, begin + length)
    parts: list[Part] = [("… ", False)] if begin else []
    at = begin
    for a, b in places:
        if a < at or b > end:
            continue
        parts += [(whole[at:a], False), (whole[a:b], True)]
        at = b
    parts.append((whole[at:end], False))
    if end < len(text):
        parts.append((" …", False))
    return [part for part in parts if part[0]]


def matches(text: str, terms: AbstractSet[str]) -> list[Span]:
    """Return the spans of the words of a text that match some terms, in order."""
    if not terms:
        return []
    languages = languages_of(text[:READ])
    return [
        each.span()
        for each in _WORD.finditer(text[:READ])
        if not terms.isdisjoint(forms(each[0], languages))
    ]


def _beginning(text: str, first: int, length: int) -> int:
    """Return the begin of the excerpt: that of the text, unless the first match would then be near or after the end."""
    if first < length * 2 // 3:
        return 0
    begin = first - length // 4
    space = text.find(" ", begin, first)
    return begin if space < 0 else space + 1


def _ending(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    space = text.rfind(" ", end - 30, end)
    return end if space < 0 else space
