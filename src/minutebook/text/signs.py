"""Find the words by which a text itself says that something ended, changed, was added, is open, or is denied.

`revision_words.toml` lists them and says what each kind is for.
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
"""The kinds of words: tables of `revision_words.toml`."""


def said(kind: str, text: str, languages: Languages) -> list[re.Match[str]]:
    """Return the matches of the words of a kind in a text that is written in one of these languages."""
    return list(_pattern(kind, languages).finditer(text))


def figures(word: str, languages: Languages) -> str | None:
    """Return a number in figures, given in figures or as a lower-case word; None for a word that is no number."""
    if word[:1].isdigit():
        return word
    return _numbers(languages).get(word)


@cache
def _numbers(languages: Languages) -> Mapping[str, str]:
    """Return the figures of each word for a number in these languages."""
    found: dict[str, str] = {}
    for code in _codes(languages):
        words = _FILE["numbers"].get(code, "").split()
        found |= dict(zip(words[::2], words[1::2], strict=True))
    return found


def _codes(languages: Languages) -> list[str]:
    """Return the two-letter codes of those languages that have word lists; English if none has."""
    return [_CODES[each] for each in languages if each in _CODES] or ["en"]


@cache
def _pattern(kind: str, languages: Languages) -> re.Pattern[str]:
    """Compile a pattern of the words of a kind in these languages."""
    by_language = _FILE[kind]
    return any_word(by_language[code] for code in _codes(languages) if code in by_language)
