"""Words by which a text says itself that something ended, changed, was added, is open or is denied.

From `revision_words.toml`, which says what each is for.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from minutebook.search.languages import Languages

_FILE: Mapping[str, Mapping[str, str]] = tomllib.loads(
    resources.files(__package__).joinpath("revision_words.toml").read_text(encoding="utf-8")
)
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
    alternatives = "|".join(
        _FILE[kind][code].replace("\n", "") for code in _codes(languages) if code in _FILE[kind]
    )
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE)
