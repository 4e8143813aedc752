"""The limits of a memory's text and metadata."""

from collections.abc import Mapping

from minutebook.record.control_characters import is_blank
from minutebook.record.errors import InvalidInput

MAX_DEPTH = 100
"""Levels of objects and lists inside one another; a JSON-RPC message is read to 200 levels."""


def check_content(content: str) -> None:
    """Raise InvalidInput for a text without a visible sign, which nobody could read or find."""
    if is_blank(content):
        raise InvalidInput("content", "must not be blank")


def check_metadata(metadata: Mapping[str, object]) -> None:
    """Raise InvalidInput for metadata nested deeper than MAX_DEPTH, which no answer could hold."""
    level: list[object] = [metadata]
    for _ in range(MAX_DEPTH):
        inside: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                inside += each.values()
            elif isinstance(each, list | tuple):
                inside += each
        if not inside:
            return
        level = inside
    if any(isinstance(each, Mapping | list | tuple) for each in level):
        raise InvalidInput(
            "metadata", "must not be nested deeper than {most} levels", most=MAX_DEPTH
        )
