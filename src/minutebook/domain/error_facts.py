"""An error as facts that can be sent, and the same error made of them on the other side."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from minutebook.domain import errors
from minutebook.domain.errors import MinutebookError
from minutebook.domain.reason import Reason

_LONGEST = 2_000
"""Characters of a text that is sent of an error."""

Facts = dict[str, Any]


def facts_of(error: MinutebookError) -> Facts:
    """Return the name of an error's class and its fields, as JSON writes them."""
    facts: Facts = {"name": type(error).__name__}
    for each in fields(error):
        facts[each.name] = _sent(getattr(error, each.name))
    return facts


def error_of(facts: object) -> MinutebookError | None:
    """Return the error that was sent as facts; None if they are those of no error that is known."""
    if not isinstance(facts, Mapping):
        return None
    kind = getattr(errors, str(facts.get("name")), None)
    if not (isinstance(kind, type) and issubclass(kind, MinutebookError)):
        return None
    try:
        given = {
            each.name: _received(str(each.type), facts[each.name])
            for each in fields(kind)
            if each.name in facts
        }
        error: MinutebookError = kind(**given)
    except (TypeError, ValueError):
        return None
    return error


def _sent(value: object) -> Any:
    match value:
        case MinutebookError():
            return facts_of(value)
        case datetime():
            return value.isoformat()
        case tuple():
            return [_sent(each) for each in value]
        case str():
            return value[:_LONGEST]
        case bool() | int() | None:
            return value
        case _:
            return str(value)[:_LONGEST]


def _received(kind: str, value: Any) -> Any:
    """Read a field by its annotation. Raises ValueError if the value does not fit."""
    if "Reason" in kind:
        return Reason(value)
    if "datetime" in kind:
        return datetime.fromisoformat(value)
    if "MinutebookError" in kind:
        inner = error_of(value)
        if inner is None:
            raise ValueError("no error that is known")
        return inner
    return tuple(value) if isinstance(value, list) else value
