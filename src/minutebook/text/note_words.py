"""Word lists for comparing notes: days, opposites, and words in names. `note_words.toml` explains each list."""

import tomllib
from collections.abc import Mapping
from importlib import resources

from minutebook.text.dates import MONTHS, WEEKDAYS

_FILE: Mapping[str, str] = tomllib.loads(
    resources.files(__package__).joinpath("note_words.toml").read_text(encoding="utf-8")
)

LISTS = {name: frozenset(words.replace(",", " ").split()) for name, words in _FILE.items()}
"""The words of each list, by the list's name."""

DAYS = (LISTS["days"] | WEEKDAYS.keys() | MONTHS.keys()) - {"may"}
"""Names of days and months, without "may", which is a verb far more often."""


def _opposites() -> Mapping[str, frozenset[str]]:
    """Read `opposites`: entries `a,b/c,d`, where each word before the bar is the opposite of each after it."""
    found: dict[str, frozenset[str]] = {}
    for pair in _FILE["opposites"].split():
        one, other = (frozenset(side.split(",")) for side in pair.split("/"))
        for side, opposite in ((one, other), (other, one)):
            found |= {word: found.get(word, frozenset()) | opposite for word in side}
    return found


OPPOSITES = _opposites()
"""The opposites of each word. A text with a word and a text with its opposite do not say the same."""
