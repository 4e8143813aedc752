"""Names of days, opposites and words in names, from `note_words.toml`, which explains each list."""

import tomllib
from collections.abc import Mapping
from importlib import resources

from minutebook.text.dates import MONTHS, WEEKDAYS

_FILE: Mapping[str, str] = tomllib.loads(
    resources.files(__package__).joinpath("note_words.toml").read_text(encoding="utf-8")
)

LISTS = {name: frozenset(words.replace(",", " ").split()) for name, words in _FILE.items()}
"""The words of each list."""

DAYS = (LISTS["days"] | WEEKDAYS.keys() | MONTHS.keys()) - {"may"}
"""Names of days and months, but for one that is a verb far more often."""


def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for pair in _FILE["opposites"].split():
        one, other = (frozenset(side.split(",")) for side in pair.split("/"))
        for side, against in ((one, other), (other, one)):
            found |= {word: found.get(word, frozenset()) | against for word in side}
    return found


OPPOSITES = _opposites()
"""By a word those of which a text that holds it cannot hold one, if it is to say the same."""
