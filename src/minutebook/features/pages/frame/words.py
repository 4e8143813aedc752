"""The words of records, and the reasons of errors and notes, in the reader's language."""

import re
from collections.abc import Mapping
from enum import Enum
from re import Match
from string import Formatter
from typing import Any

from minutebook.features.pages.frame.catalogue import Later, text, texts_beside, with_marks
from minutebook.record.reason import Reason, Word

_TEXTS = dict(texts_beside(__file__))

_INSTEAD: Mapping[str, Later] = _TEXTS.pop("instead")
_ACTS = {each.message: each for each in _TEXTS["acts"]} | _TEXTS.pop("instead_of_acts")

OUTCOMES = tuple(each.message for each in _TEXTS["outcomes"])
"""The outcomes of acts on the trail: done, or the reason of a refusal."""

ON_THE_TRAIL = ("link", *(act for act in _ACTS if " " not in act))
"""The acts that the trail can be filtered by."""

WORDS: Mapping[str, Later] = {
    **{each.message: each for texts in _TEXTS.values() for each in texts},
    **_INSTEAD,
    **_ACTS,
}

_JOINTS = re.compile("_[a-z]|(?<=[a-z])[A-Z]")
"""The joints of words in an identifier such as business_rule or NotFound."""


def word(value: str) -> str:
    """Return a word of a record in the reader's language; an unknown word is returned unchanged."""
    found = WORDS.get(value)
    return str(value) if found is None else _JOINTS.sub(_parted, str(found))


def _parted(joint: Match[str]) -> str:
    return f" {joint[0][-1].lower()}"


def said(reason: str) -> str:
    """Return a reason in the reader's language; another text is returned unchanged."""
    if not isinstance(reason, Reason) or not reason:
        return reason
    template = text(reason.template)
    return _FILLED.vformat(template, (), reason.values) if reason.values else template


class _Filled(Formatter):
    """Formats a reason's template with its values as the reader's language writes them."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        value = super().get_value(key, args, kwargs)
        match value:
            case Reason():
                return said(value)
            case Word() | Enum():
                return word(str(value))
            case _:
                return value

    def format_field(self, value: Any, format_spec: str) -> str:
        written = format(value, format_spec)
        return with_marks(written) if isinstance(value, int | float) else written


_FILLED = _Filled()
