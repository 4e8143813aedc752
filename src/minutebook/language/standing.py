"""Tell a sentence that states a habit, a rule or a preference from one that states a fact or tells an event."""

import re
import tomllib
from functools import cache
from importlib import resources


def is_standing(text: str) -> bool:
    """Tell whether a text says by its words that it holds from case to case, such as "always" or "we prefer".

    The words are in `standing_words.toml`. A text that says so of the past ("she never replied") is told alike.
    """
    return _words().search(text) is not None


@cache
def _words() -> re.Pattern[str]:
    file = resources.files(__package__).joinpath("standing_words.toml")
    by_language = tomllib.loads(file.read_text(encoding="utf-8"))
    chinese = by_language.pop("zh")
    return re.compile(rf"\b(?:{'|'.join(by_language.values())})\b|{chinese}", re.IGNORECASE)
