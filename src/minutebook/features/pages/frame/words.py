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
"""How an act ends on the trail: done, or refused for which reason."""

ON_THE_TRAIL = ("link", *(act for act in _ACTS if " " not in act))
"""The acts that people look for on the trail."""

WORDS: Mapping[str, Later] = {
    **{each.message: each for texts in _TEXTS.values() for each in texts},
    **_INSTEAD,
    **_ACTS,
}

_JOINTS = re.compile("_[a-z]|(?<=[a-z])[A-Z]")
"""Where two words meet in one of code: business_rule, NotFound."""


def word(value: str) -> str:
    """Say a record's word in the reader's language; one that is not known stays as it is."""
    found = WORDS.get(value)
    return str(value) if found is None else _JOINTS.sub(_parted, str(found))


def _parted(joint: Match[str]) -> str:
    return f" {joint[0][-1].lower()}"


def said(reason: str) -> str:
    """Say a reason in the reader's language; a text that is none stays as it is."""
    if not isinstance(reason, Reason) or not reason:
        return reason
    template = text(reason.template)
    return _FILLED.vformat(template, (), reason.values) if reason.values else template


class _Filled(Formatter):
    """Puts the values of a reason into its template as the reader's language writes them."""

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
