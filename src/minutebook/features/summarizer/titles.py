"""Make a title of a sentence: a whole phrase of it."""

import re
from collections.abc import Iterator

from minutebook.features.summarizer.session_facts import (
    FUNCTION_WORDS,
    GERMAN_SIGNS,
    LISTS,
    alternatives,
    unfolded,
    without_politeness,
)
from minutebook.memory.journal.summary_draft import MAX_TITLE, MAX_TITLE_WORDS

LEAST_WORDS = 3
"""The fewest words of a part of a sentence that can be a title."""

_EDGES = " .!?…:;,-–—*\"'。！？¿¡„“”»«("
_REPORTED = re.compile(
    rf"^(?:{unfolded('|'.join(LISTS['words']['reported'].values()))})", re.IGNORECASE
)
_JOINING = re.compile(
    r"^(?:and|but|or|und|aber|oder|y|pero|o|et|mais|ou)\s+(?=\S+\s)", re.IGNORECASE
)
_PUNCTUATION = re.compile(r"\s*[,;:—–(](?=\s)\s*|\s+\(|\s+-\s+|\.\s+")
_CONJUNCTION = re.compile(rf",?\s+(?={alternatives('clause')}\s)", re.IGNORECASE)
_COORDINATION = re.compile(r",?\s+(?=(?:and|und|y)\s)", re.IGNORECASE)
_PREPOSITION = re.compile(rf"\s+(?={alternatives('preposition')}\s)", re.IGNORECASE)


def title_of(sentence: str) -> str:
    """Make a title of a sentence: at most ten words and 100 characters.

    That is the first of its whole phrases; if it has none, its first words and "…".
    """
    return next(phrases(sentence), None) or _clipped(_trimmed(sentence) or sentence.strip())


def phrases(sentence: str) -> Iterator[str]:
    """Yield the whole phrases of a sentence that are short enough for a title, best first.

    First comes the whole sentence without words of politeness; then its beginnings up to a mark or a
    conjunction, the longest first; then those up to "and" or a preposition. In German, whose verbs come
    last, none ends at a preposition.
    """
    text = _trimmed(sentence)
    found = dict.fromkeys((text, *_beginnings(text)))
    yield from (_capitalized(each) for each in found if each and _fits(each))


def _beginnings(text: str) -> Iterator[str]:
    marks = {*_spans(_PUNCTUATION, text), *_spans(_CONJUNCTION, text)}
    ends = sorted((start for start, _ in marks), reverse=True)
    yield from filter(_can_stand, (text[:end].strip(_EDGES) for end in ends))
    cuts = [_COORDINATION] if GERMAN_SIGNS & set(_words(text)) else [_COORDINATION, _PREPOSITION]
    for cut in cuts:
        for start, _ in sorted(_spans(cut, text), reverse=True):
            part = text[:start].strip(_EDGES)
            if _can_stand(part) and len(_words(part)) > LEAST_WORDS:
                yield part


def _can_stand(part: str) -> bool:
    words = _words(part)
    return len(words) >= LEAST_WORDS and _fits(part) and words[-1] not in FUNCTION_WORDS


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def _fits(text: str) -> bool:
    return len(text.split()) <= MAX_TITLE_WORDS and len(text) <= MAX_TITLE


def _trimmed(sentence: str) -> str:
    text = " ".join(without_politeness(sentence).split()).strip(_EDGES)
    text = _JOINING.sub("", text, count=1)
    return _REPORTED.sub("", text, count=1)


def _clipped(text: str) -> str:
    kept = " ".join(text.split()[:MAX_TITLE_WORDS])
    if len(kept) >= MAX_TITLE:
        kept = kept[: MAX_TITLE - 1]
        kept = kept.rsplit(" ", 1)[0] if " " in kept[MAX_TITLE // 2 :] else kept
    whole = kept == " ".join(text.split())
    return _capitalized(kept if whole else f"{kept.rstrip(_EDGES) or kept}…")


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'-]*\w", text.lower())
