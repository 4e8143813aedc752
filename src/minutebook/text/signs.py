"""Words by which a text says itself that something ended, changed, was added, is open or is denied.

From `revision_words.toml`, which says what each is for.
"""

import re
from collections.abc import Mapping
from functools import cache

from minutebook.text.languages import Languages
from minutebook.text.word_lists import any_word, word_lists

_FILE = word_lists("revision_words.toml")
_CODES = {
    "english": "en",
    "german": "de",
    "spanish": "es",
    "french": "fr",
    "italian": "it",
    "dutch": "nl",
    "portuguese": "pt",
    "russian": "ru",
}

KINDS = ("ended", "changed", "added", "open", "denies")
"""What words can say of a change."""


def said(kind: str, text: str, languages: Languages) -> list[re.Match[str]]:
    """Return where a text in one of some languages says so."""
    found = _pattern(kind, languages)
    return list(found.finditer(text)) if found else []


def figures(word: str, languages: Languages) -> str | None:
    """Return the figures of a number in small letters, whether it is written in figures or as a word; else None."""
    if word[:1].isdigit():
        return word
    return _numbers(languages).get(word)


@cache
def _numbers(languages: Languages) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for code in _codes(languages):
        words = _FILE["numbers"].get(code, "").split()
        found |= dict(zip(words[::2], words[1::2], strict=True))
    return found


def _codes(languages: Languages) -> list[str]:
    return [_CODES[each] for each in languages if each in _CODES] or ["en"]


@cache
def _pattern(kind: str, languages: Languages) -> re.Pattern[str] | None:
    by_language = _FILE[kind]
    return any_word(by_language[code] for code in _codes(languages) if code in by_language)
