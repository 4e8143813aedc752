"""Reads the front matter of a note: YAML between two fences, limited in size, as values that metadata may have."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import yaml

from minutebook.record.control_characters import cleaned
from minutebook.record.writing.metadata import MAX_DEPTH

LONGEST = 2**20
"""The most characters of front matter."""

MOST_VALUES = 20_000
"""The most values in front matter, names included, because the cost of reading grows with them."""

MOST_FIELDS = 1000
"""The most fields that are read one by one if the whole is not YAML."""

DEEPEST = MAX_DEPTH + 1
"""The most levels of nested lists and objects: those of metadata, which is in a field."""

UNREAD = "front"
"""The name of a field with the reason why a part of the front matter could not be read."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"^(?![\s#\-\[\]{}&*!|>%@`,?])([^:\n]{1,100}?)[ \t]*:(?=\s|\Z)", re.MULTILINE)


def split(text: str) -> tuple[Mapping[str, Any], str, int]:
    """Return the fields of the front matter, the rest of the text, and the number of the rest's first line.

    If the front matter is not YAML as a whole, its fields are read one by one, and one that is not YAML has its text as
    value. If it has no fields, the whole text is the rest. In both cases the field UNREAD gives the reason.
    """
    found = _FRONT.match(text)
    if found is None:
        # There is no front matter: `---` at the top may be a horizontal rule.
        return {}, text, 1
    head, rest = found[1], text[found.end() :]
    try:
        fields = _loaded(head)
    except ValueError as error:
        fields = _one_by_one(head, str(error))
        if not fields:
            return {UNREAD: str(error)}, text, 1
    return fields, rest, head.count("\n") + 3


def _loaded(head: str) -> dict[str, Any]:
    """Return the fields of front matter. Raises ValueError, with the reason, if it cannot be read."""
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
    return {str(name): plain(each) for name, each in fields.items()}


def _one_by_one(head: str, problem: str) -> dict[str, Any]:
    """Return the fields of front matter that is not YAML as a whole, and UNREAD with the problem; empty if it has no fields."""
    names = list(_NAME.finditer(head)) if len(head) <= LONGEST else []
    above = head[: names[0].start()] if names else head
    if len(names) > MOST_FIELDS or any(
        line.strip() and not line.startswith("#") for line in above.split("\n")
    ):
        return {}
    fields: dict[str, Any] = {}
    unread = []
    ends = (*(each.start() for each in names), len(head))
    for name, (start, end) in zip(names, pairwise(ends), strict=True):
        try:
            fields |= _loaded(head[start:end])
        except ValueError:
            key = name[1].strip("\"'")
            fields[key] = cleaned(head[name.end() : end].strip())
            unread.append(key)
    reason = f"{problem}; read as text: {', '.join(unread)}" if unread else problem
    return {**fields, UNREAD: reason} if fields else {}


def _check(head: str) -> None:
    """Raise ValueError for an alias, many values, or deep nesting: a few aliases can expand to more than memory holds."""
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
    """Return a value of YAML as a value of JSON."""
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
    """Return the tags in fields, where they are a list, or a text with commas or spaces between them."""
    value = fields.get("tags")
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if not isinstance(value, list):
        return []
    named = [str(each).lstrip("#") for each in value if each is not None]
    return [each for each in named if each.strip("-")]
