"""Words by which a session's turns are read, in English, German, Spanish and French.

From `session_words.toml`, which says what each is for, and `talk_words.toml`.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from minutebook.features.summarizer.talks import WORDS
from minutebook.search.text import word_terms

FILE: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("session_words.toml").read_text(encoding="utf-8")
)
_WHOLE = r"(?<![^\W_])(?:{})(?![^\W_])"

FILLERS = frozenset(FILE["common"]["fillers"].split())
"""Words of any talk, lower case, as written."""

FILLER_TERMS = frozenset(term for word in FILLERS for term in (word, *word_terms(word))) - {
    "import"
}
"""The same, and as the terms of a text; without the stem of `important`, which is a word of its own."""

FUNCTION_WORDS = frozenset(FILE["common"]["ends_nothing"].split())
"""Words that must not end a phrase."""

GERMAN_SIGNS = frozenset(FILE["common"]["german"].split())
"""Words of which a German sentence holds one."""


def pattern(*names: str, begins: bool = False) -> re.Pattern[str]:
    """Compile the words of some lists, as whole words and ignoring case; `begins`: at the beginning of a text alone."""
    found = "|".join(map(either, names))
    return re.compile(rf"\W*(?:{found})" if begins else found, re.IGNORECASE | re.MULTILINE)


def either(name: str) -> str:
    """Return one list of words in all languages, or a pattern, as one regular expression."""
    if name in FILE["patterns"]:
        return plain(FILE["patterns"][name])
    return whole(WORDS[name] if name in WORDS else FILE["words"][name])


def whole(by_language: Mapping[str, str]) -> str:
    """Return the alternatives of each language as one regular expression for whole words."""
    return _WHOLE.format("|".join(map(plain, by_language.values())))


def plain(text: str) -> str:
    """Return a regular expression without the line ends in it, which mean nothing."""
    return text.replace("\n", "")
