"""Tell how much a turn sounds as if it settled how something is done, and whether a question tells of something that happened.

Who reports a fault seldom has the words of the rule that decides it.
"""

import re
import tomllib
from importlib import resources

from minutebook.search.text import words

_KINDS = [
    re.compile(
        rf"(?<![^\W_])(?:{'|'.join(by_language.values())})(?![^\W_])",
        re.IGNORECASE,
    )
    for by_language in tomllib.loads(
        resources.files(__package__).joinpath("settling_words.toml").read_text(encoding="utf-8")
    ).values()
]

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\s\"'”’)]+")
_FEWEST_WORDS = 5
"""Words of a sentence that tells; fewer are a name, or what to look for."""

_ASKS = re.compile(r"[?？]\s*$")
_LENGTH = 600
"""Characters of a text that are looked at: who settles something says so at once."""


def settling(prompt: str, response: str) -> float:
    """Return how much of the words that settle a turn has, in [0, 1]: what holds, from when on, and that it is agreed."""
    said = "" if _ASKS.search(prompt) else prompt[:_LENGTH]
    text = f"{said}\n{response[:_LENGTH]}"
    return sum(bool(kind.search(text)) for kind in _KINDS) / len(_KINDS)


def tells(question: str) -> bool:
    """Tell whether a question has a whole sentence that does not ask, as a report of a fault has."""
    return any(
        len(words(sentence)) >= _FEWEST_WORDS and not _ASKS.search(sentence)
        for sentence in _SENTENCE_END.split(question)
    )
