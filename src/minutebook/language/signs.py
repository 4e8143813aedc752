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


def is_number(word: str, languages: Languages) -> bool:
    """Tell whether a word begins with a digit or is the name of a number."""
    if word[:1].isdigit():
        return True
    found = _pattern("numbers", languages)
    return found is not None and found.fullmatch(word) is not None


@cache
def _pattern(kind: str, languages: Languages) -> re.Pattern[str] | None:
    codes = [_CODES[each] for each in languages if each in _CODES] or ["en"]
    alternatives = "|".join(
        _FILE[kind][code].replace("\n", "") for code in codes if code in _FILE[kind]
    )
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE)
