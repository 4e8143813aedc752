"""Lists of telling words: TOML files with a table a kind, in it a regular expression a language."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources


def word_lists(name: str, package: str = __package__) -> Mapping[str, Mapping[str, str]]:
    """Return the expressions of a file in a package, by kind and language."""
    file = resources.files(package).joinpath(name)
    return tomllib.loads(file.read_text(encoding="utf-8"))


def any_word(expressions: Iterable[str]) -> re.Pattern[str]:
    """Compile expressions into one that finds whole words of any of them; line ends in them only wrap the file."""
    alternatives = "|".join(each.replace("\n", "") for each in expressions)
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE)
