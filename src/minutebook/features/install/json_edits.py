"""Edit a text of JSON, and leave all else in it unchanged, also comments and trailing commas.

Comments and trailing commas are replaced by spaces, so that the standard decoder reads the rest, with the same
offsets as in the text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

BOM = "\ufeff"
_SPACES = re.compile(r"[ \t]*")


def number(text: str) -> Any:
    """Return a tuple with the text of a number: the spelling of numbers must not change."""
    return (text,)


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def newline_of(text: str) -> str:
    """Return the line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def _margin(text: str, at: int) -> str:
    found = _SPACES.match(text, text.rfind("\n", 0, at) + 1)
    return found[0] if found else ""


JSON = json.JSONDecoder(parse_float=number, parse_int=number, parse_constant=_constant)
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_INDENT = re.compile(r'\n([ \t]+)"')
_Edit = tuple[int, int, str]
# Start and end of a part of the text, and what replaces it.

_GONE = object()


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of an object or array: its key or index, its parsed value, and the offsets of its start, value and end."""

    key: str | int
    parsed: Any
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or an array: the offsets of its brackets, and its items."""

    opening: int
    closing: int
    items: tuple[_Item, ...]

    def paired_with(self, after: Any) -> list[tuple[_Item, Any]]:
        """Return each item with its value in `after`, _GONE if it has none there."""
        if isinstance(after, dict):
            # Of members with the same key the last one counts.
            last = {item.key: item for item in self.items}
            return [(item, after.get(key, _GONE)) for key, item in last.items()]
        old, new = ([json.dumps(each) for each in values] for values in (self.parsed, after))
        steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return [
            (item, after[there + at] if there + at < end else _GONE)
            for _, first, last, there, end in steps
            for at, item in enumerate(self.items[first:last])
        ]

    @property
    def parsed(self) -> list[Any]:
        """The values of the items."""
        return [item.parsed for item in self.items]


def _uncommented(text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] == '"' else re.sub(r"[^\r\n]", " ", match[0])

    return _COMMENT.sub(blank, text)


def bare(text: str) -> str:
    """Return a text of JSON with spaces in place of comments and trailing commas."""
    return _TRAILING_COMMA.sub(
        lambda match: " " if match[0] == "," else match[0], _uncommented(text)
    )


def json_edited(text: str, after: Mapping[str, Any]) -> str:
    """Return a text of JSON edited so that its value is `after`; all that stays is left as it is."""
    bom, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    text = text if text.strip() else "{}\n"
    while True:
        blanked = bare(text)
        opening = _skip(blanked, 0)
        gone = next(_removals(text, blanked, opening, after), None)
        if gone is None:
            return bom + _apply(text, _changes(text, blanked, opening, after))
        text = _apply(text, gone)


def _removals(text: str, blanked: str, opening: int, after: Any) -> Iterator[list[_Edit]]:
    """Yield the edits that remove each item that is not in `after`."""
    found = _container(blanked, opening)
    for item, value in found.paired_with(after):
        if value is _GONE:
            yield _removal(text, found, item)
        elif _is_alike(blanked[item.value], value):
            yield from _removals(text, blanked, item.value, value)


def _removal(text: str, found: _Container, item: _Item) -> list[_Edit]:
    """Return the edits that remove an item with its comma and the space around it; comments stay."""
    uncommented = _uncommented(text)
    at = found.items.index(item)
    comma = _skip(uncommented, item.end)
    has_comma = uncommented[comma] == ","
    end = comma + 1 if has_comma else item.end
    before = len(text[: item.start].rstrip())
    if uncommented[before - 1] != text[before - 1]:
        # A line comment before the item must keep the end of its line.
        before = text.find("\n", before, item.start) + 1 or before
    if at < len(found.items) - 1:
        following = found.items[at + 1].start
        return [(item.start, following if not text[end:following].strip() else end, "")]
    if at == 0:
        is_bare = before == found.opening + 1 and not text[end : found.closing].strip()
        return [(before, found.closing if is_bare else end, "")]
    if has_comma:
        return [(before, end, "")]
    earlier = uncommented.rindex(",", 0, item.start)
    if earlier == before - 1:
        return [(earlier, end, "")]
    return [(earlier, earlier + 1, ""), (before, end, "")]


def _is_alike(sign: str, value: Any) -> bool:
    return (sign == "{" and isinstance(value, dict)) or (sign == "[" and isinstance(value, list))


def _changes(text: str, blanked: str, opening: int, after: Any) -> Iterator[_Edit]:
    """Yield the edits that change and add items; no item needs to be removed."""
    found = _container(blanked, opening)
    pairs = found.paired_with(after)
    margin = _margin(text, opening)
    if isinstance(after, list) and [value for _, value in pairs] != after[: len(pairs)]:
        yield opening, found.closing + 1, _json_value(text, after, margin)
        return
    for item, value in pairs:
        if _is_alike(blanked[item.value], value):
            yield from _changes(text, blanked, item.value, value)
        elif item.parsed != value:
            is_multiline = "\n" in text[item.value : item.end]
            yield item.value, item.end, _json_value(text, value, margin if is_multiline else None)
    if isinstance(after, list):
        added = [("", value) for value in after[len(pairs) :]]
    else:
        known = {item.key for item in found.items}
        added = [
            (f"{json.dumps(key, ensure_ascii=False)}: ", value)
            for key, value in after.items()
            if key not in known
        ]
    if added:
        yield from _additions(text, found, added)


def _additions(text: str, found: _Container, added: Sequence[tuple[str, Any]]) -> Iterator[_Edit]:
    """Yield the edits that add items, each with its key and colon or "", after the last one, in the layout of the others."""
    outer = _margin(text, found.opening)
    inner = outer + _indent(text)
    if not found.items:
        at = found.opening + 1 + len(text[found.opening + 1 : found.closing].rstrip())
        yield at, found.closing, _json_items(text, added, inner) + newline_of(text) + outer
        return
    first, last = found.items[0], found.items[-1]
    tail = text[last.end : found.closing]
    has_comma = "," in _uncommented(text)[last.end : found.closing]
    if not has_comma:
        yield last.end, last.end, ","
    if "\n" in text[found.opening : first.start]:
        margin: str | None = _margin(text, first.start)
    else:
        margin = inner if "\n" in tail else None
    at = last.end + len(tail.rstrip())
    yield at, at, _json_items(text, added, margin) + "," * has_comma


def _json_items(text: str, added: Sequence[tuple[str, Any]], margin: str | None) -> str:
    lead = " " if margin is None else newline_of(text) + margin
    return ",".join(f"{lead}{key}{_json_value(text, value, margin)}" for key, value in added)


def _json_value(text: str, value: Any, margin: str | None) -> str:
    if margin is None:
        return json.dumps(_plain(value), ensure_ascii=False)
    lines = json.dumps(_plain(value), ensure_ascii=False, indent=_indent(text))
    return lines.replace("\n", newline_of(text) + margin)


def _plain(value: Any) -> Any:
    """Return a value with numbers in place of the tuples of their texts."""
    match value:
        case (number,) if isinstance(value, tuple):
            return json.loads(number)
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def _indent(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _apply(text: str, edits: Iterable[_Edit]) -> str:
    pieces, at = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[0]):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _container(blanked: str, opening: int) -> _Container:
    items: list[_Item] = []
    at = _skip(blanked, opening + 1)
    while blanked[at] not in "}]":
        key: str | int = len(items)
        start = at
        if blanked[opening] == "{":
            key, end = JSON.raw_decode(blanked, at)
            at = _skip(blanked, _skip(blanked, end) + 1)
        parsed, end = JSON.raw_decode(blanked, at)
        items.append(_Item(key, parsed, start, at, end))
        at = _skip(blanked, end)
        if blanked[at] == ",":
            at = _skip(blanked, at + 1)
    return _Container(opening, at, tuple(items))


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at
