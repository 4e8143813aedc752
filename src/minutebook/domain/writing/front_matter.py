"""The front matter of a note: YAML between two fences, bounded, and the values allowed in metadata."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import yaml

from minutebook.domain.control_characters import cleaned
from minutebook.domain.writing.metadata import MAX_DEPTH

LONGEST = 2**20
"""Characters of front matter; a note of a memory has its title, tags and metadata there."""

MOST_VALUES = 20_000
"""Values in front matter, names included: what it takes to read it grows with them."""

DEEPEST = MAX_DEPTH + 1
"""Levels of lists and objects inside one another: those of metadata, which are in a field."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def split(text: str) -> tuple[Mapping[str, Any], str, int]:
    """Return the front matter, the rest, and the number of the rest's first line.

    Raises ValueError, which says why, if front matter begins that cannot be read.
    """
    if not text.startswith("---\n"):
        return {}, text, 1
    end = text.find("\n---\n", 3)
    if end < 0 and text.endswith("\n---"):
        end = len(text) - 4
    if end < 0:
        # A rule at the top of a page, not a fence.
        return {}, text, 1
    head, rest = text[4 : end + 1], text[end + 5 :]
    if len(head) > LONGEST:
        raise ValueError(f"the front matter is longer than {LONGEST:,} characters")
    try:
        _check(head)
        fields = yaml.load(head, _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, OverflowError, RecursionError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"the front matter is not YAML: {problem}") from error
    if fields is None:
        fields = {}
    if not isinstance(fields, dict):
        raise ValueError("the front matter holds no fields")
    return {str(name): plain(each) for name, each in fields.items()}, rest, head.count("\n") + 3


def _check(head: str) -> None:
    """Raise ValueError for an alias, a few of which stand for more than memory holds, many values, or deep nesting."""
    depth = values = 0
    for event in yaml.parse(head, _Loader):
        match event:
            case yaml.AliasEvent():
                raise ValueError("the front matter holds an alias")
            case yaml.ScalarEvent():
                values += 1
            case yaml.CollectionStartEvent():
                depth, values = depth + 1, values + 1
            case yaml.CollectionEndEvent():
                depth -= 1
        if depth > DEEPEST:
            raise ValueError(f"the front matter is nested deeper than {DEEPEST} levels")
        if values > MOST_VALUES:
            raise ValueError(f"the front matter holds more than {MOST_VALUES:,} values")


def plain(value: Any) -> Any:
    """Return a value of YAML as JSON has it."""
    match value:
        case str():
            return cleaned(value)
        case None | bool() | int() | float():
            return value if value == value and abs(value or 0) < 2**63 else str(value)
        case datetime() | date():
            return value.isoformat()
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple() | set():
            return [plain(each) for each in value]
        case _:
            return str(value)


def tags_of(fields: Mapping[str, Any]) -> list[str]:
    """Return the tags, which are a list, or a text with commas or spaces between them."""
    value = fields.get("tags")
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if not isinstance(value, list):
        return []
    return [str(each).lstrip("#") for each in value if each is not None]
