"""Read word lists: TOML files with a table for each kind of word, and in it a regular expression for each language."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources


def word_lists(name: str, package: str = __package__) -> Mapping[str, Mapping[str, str]]:
    """Return the tables of a TOML file in a package: regular expressions by kind, then by language."""
    file = resources.files(package).joinpath(name)
    return tomllib.loads(file.read_text(encoding="utf-8"))


def any_word(expressions: Iterable[str]) -> re.Pattern[str]:
    """Compile one pattern that finds whole words that match any of the expressions; line ends in these are ignored."""
    alternatives = "|".join(each.replace("\n", "") for each in expressions)
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE)
