"""Tell turns that settle how something is done, and questions that report an event.

The report of a fault seldom has the words of the rule that decides it.
"""

import re
from collections.abc import Sequence
from functools import cache

from minutebook.text.word_lists import any_word, word_lists
from minutebook.text.words import words

_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\s\"'”’)]+")
_FEWEST_WORDS = 5
"""The fewest words of a sentence that reports an event; fewer are a name or a subject."""

_ASKS = re.compile(r"[?？]\s*$")
_LENGTH = 600
"""The number of a text's first characters that are searched: a turn that settles something begins with that."""


def settling(prompt: str, response: str) -> float:
    """Return the share of the three kinds of settling words that a turn has, in [0, 1]: rule, beginning, agreement."""
    said = "" if _ASKS.search(prompt) else prompt[:_LENGTH]
    text = f"{said}\n{response[:_LENGTH]}"
    kinds = _kinds()
    return sum(bool(kind.search(text)) for kind in kinds) / len(kinds)


def reports(question: str) -> bool:
    """Tell whether a question has a whole sentence that does not ask, as a report of a fault has."""
    return any(
        len(words(sentence)) >= _FEWEST_WORDS and not _ASKS.search(sentence)
        for sentence in _SENTENCE_END.split(question)
    )


@cache
def _kinds() -> Sequence[re.Pattern[str]]:
    lists = word_lists("settling_words.toml").values()
    return tuple(any_word(by_language.values()) for by_language in lists)
