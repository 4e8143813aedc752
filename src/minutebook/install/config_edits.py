"""Changes a configuration text where it must change and nowhere else.

Comments, order, spacing, number forms and line ends of all the rest stay as a person left them.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from minutebook.domain.errors import InvalidInput

_BOM = "\ufeff"
_SPACES = re.compile(r"[ \t]*")
_Path = tuple[str, ...]


class Format(StrEnum):
    """How a configuration is written: strict JSON, JSON with comments, TOML."""

    JSON = "json"
    JSONC = "jsonc"
    TOML = "toml"


def read(format: Format, text: str, source: str) -> dict[str, Any]:
    """Read a configuration; an empty text is an empty one, and numbers come as they are written.

    Raises InvalidInput with the source, what is wrong and where.
    """
    text = text.removeprefix(_BOM)
    try:
        if format is Format.TOML:
            return tomllib.loads(text, parse_float=_number)
        data = _JSON.decode(_bare(format, text)) if text.strip() else {}
    except json.JSONDecodeError as error:
        fault = f"{error.msg} (at line {error.lineno}, column {error.colno})"
        raise InvalidInput(source, _unreadable(format, fault)) from error
    except ValueError as error:
        raise InvalidInput(source, _unreadable(format, str(error))) from error
    except RecursionError as error:
        raise InvalidInput(source, _unreadable(format, "it is nested too deeply")) from error
    if not isinstance(data, dict):
        raise InvalidInput(source, _unreadable(format, "it is no object (at line 1, column 1)"))
    return data


def _unreadable(format: Format, fault: str) -> str:
    kind = "TOML" if format is Format.TOML else "JSON"
    return f"must be valid {kind}; correct this by hand first: {fault}"


def edited(
    format: Format, text: str, section: str, name: str, entry: Mapping[str, Any] | None
) -> str | None:
    """Merge an entry into `section.name` of a text that `read` accepts, or take it out with None.

    An entry holds texts, lists of texts and tables of texts; tables merge, all else replaces, and
    what it does not name stays (a merge patch, RFC 7396). Gives None when the text is laid out so
    that only a person can change it: the result, read again, must say just what it should.
    """
    data = read(format, text, "before")
    wanted = _merged(data, {section: {name: entry}})
    if wanted == data:
        return text
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if format is Format.TOML:
        lines, path = _LINE.findall(body), (section, name)
        lines = _toml_without(lines, path) if entry is None else _toml_with(lines, path, entry)
        body = "".join(lines)
    elif entry is None:
        body = _json_without(body, (section, name))
    else:
        body = _json_with(body, {section: {name: entry}})
    try:
        proven = _pruned(read(format, body, "after")) == _pruned(wanted)
    except InvalidInput:
        return None
    return bom + body if proven else None


def _merged(data: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(data)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            present = result.get(key)
            result[key] = _merged(present if isinstance(present, dict) else {}, value)
        else:
            result[key] = value
    return result


def _pruned(data: Any) -> Any:
    # An empty table may be written or not, as TOML has it.
    if not isinstance(data, dict):
        return data
    parts = {key: _pruned(value) for key, value in data.items()}
    return {key: value for key, value in parts.items() if value != {}}


def _number(text: str) -> Any:
    return (text,)


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _margin(text: str, at: int) -> str:
    found = _SPACES.match(text, text.rfind("\n", 0, at) + 1)
    return found[0] if found else ""


# JSON. Comments and trailing commas are blanked out, so that the standard decoder reads the rest
# and every place in the blanked text is the same place in the text.

_JSON = json.JSONDecoder(parse_float=_number, parse_int=_number, parse_constant=_constant)
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_INDENT = re.compile(r'\n([ \t]+)"')
_Edit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    opening: int
    closing: int
    members: tuple[_Member, ...]

    def find(self, key: str) -> _Member | None:
        # Of members with the same key the last one counts, as everywhere in JSON.
        return next((member for member in reversed(self.members) if member.key == key), None)


def _uncommented(text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] == '"' else re.sub(r"[^\r\n]", " ", match[0])

    return _COMMENT.sub(blank, text)


def _bare(format: Format, text: str) -> str:
    if format is Format.JSON:
        return text
    return _TRAILING_COMMA.sub(
        lambda match: " " if match[0] == "," else match[0], _uncommented(text)
    )


def _json_with(text: str, patch: Mapping[str, Any]) -> str:
    text = text if text.strip() else "{}\n"
    bare = _bare(Format.JSONC, text)
    return _applied(text, _json_edits(text, bare, _skip(bare, 0), patch))


def _json_edits(text: str, bare: str, opening: int, patch: Mapping[str, Any]) -> Iterator[_Edit]:
    found = _object(bare, opening)
    added = {}
    for key, value in patch.items():
        member = found.find(key)
        if member is None:
            added[key] = value
        elif isinstance(value, dict) and bare[member.value] == "{":
            yield from _json_edits(text, bare, member.value, value)
        elif _JSON.raw_decode(bare, member.value)[0] != value:
            spread = "\n" in text[member.value : member.end]
            margin = _margin(text, member.start) if spread else None
            yield member.value, member.end, _json_value(text, value, margin)
    if added:
        yield from _additions(text, found, added)


def _additions(text: str, found: _Object, added: Mapping[str, Any]) -> Iterator[_Edit]:
    """Write new members after the last, in the way in which the object is written."""
    outer = _margin(text, found.opening)
    inner = outer + _unit(text)
    if not found.members:
        at = found.opening + 1 + len(text[found.opening + 1 : found.closing].rstrip())
        yield at, found.closing, _json_members(text, added, inner) + _newline(text) + outer
        return
    first, last = found.members[0], found.members[-1]
    tail = text[last.end : found.closing]
    if "," not in _uncommented(text)[last.end : found.closing]:
        yield last.end, last.end, ","
    if "\n" in text[found.opening : first.start]:
        margin: str | None = _margin(text, first.start)
    else:
        margin = inner if "\n" in tail else None
    at = last.end + len(tail.rstrip())
    yield at, at, _json_members(text, added, margin)


def _json_members(text: str, members: Mapping[str, Any], margin: str | None) -> str:
    lead = " " if margin is None else _newline(text) + margin
    return ",".join(
        f"{lead}{json.dumps(key, ensure_ascii=False)}: {_json_value(text, value, margin)}"
        for key, value in members.items()
    )


def _json_value(text: str, value: Any, margin: str | None) -> str:
    if margin is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return lines.replace("\n", _newline(text) + margin)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _json_without(text: str, path: _Path) -> str:
    bare, uncommented = _bare(Format.JSONC, text), _uncommented(text)
    found = _object(bare, _skip(bare, 0))
    member = found.find(path[0])
    for key in path[1:]:
        if member is None or bare[member.value] != "{":
            return text
        found = _object(bare, member.value)
        member = found.find(key)
    if member is None:
        return text
    edits: list[_Edit] = []
    start, end = member.start, member.end
    after = _skip(uncommented, end)
    if uncommented[after] == ",":
        end = after + 1
    elif member is not found.members[0]:
        comma = uncommented.rindex(",", 0, start)
        edits.append((comma, comma + 1, ""))
    line, rest = text.rfind("\n", 0, start) + 1, text.find("\n", end) + 1
    if rest > 0 and not text[line:start].strip() and not text[end:rest].strip():
        start, end = line, rest
    return _applied(text, [*edits, (start, end, "")])


def _applied(text: str, edits: Iterable[_Edit]) -> str:
    pieces, at = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[0]):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _object(bare: str, opening: int) -> _Object:
    members = []
    at = _skip(bare, opening + 1)
    while bare[at] != "}":
        key, end = _JSON.raw_decode(bare, at)
        value = _skip(bare, _skip(bare, end) + 1)
        _, end = _JSON.raw_decode(bare, value)
        members.append(_Member(key, at, value, end))
        at = _skip(bare, end)
        if bare[at] == ",":
            at = _skip(bare, at + 1)
    return _Object(opening, at, tuple(members))


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


# TOML. A statement ends with the first line at which the standard parser finds it whole, so that
# the parser, and nothing here, decides what strings and arrays over many lines are.

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class _Statement:
    table: _Path
    path: _Path
    start: int
    end: int

    @property
    def is_header(self) -> bool:
        return self.path == self.table


def _toml_with(lines: list[str], path: _Path, entry: Mapping[str, Any]) -> list[str]:
    if any(statement.path[: len(path)] == path for statement in _statements(lines)):
        return _assigned(lines, path, entry)
    newline = _newline("".join(lines))
    before = _ended(lines, newline)
    gap = [newline] if before and before[-1].strip() else []
    block = [f"[{_toml_key(path)}]"]
    block += [f"{_toml_key((key,))} = {_toml(value)}" for key, value in entry.items()]
    return [*before, *gap, *(line + newline for line in block)]


def _assigned(lines: list[str], path: _Path, value: Any) -> list[str]:
    statements = list(_statements(lines))
    exact = next((s for s in statements if s.path == path and not s.is_header), None)
    if exact is not None:
        return _replaced(lines, exact, value)
    if isinstance(value, dict) and any(s.path[: len(path)] == path for s in statements):
        for key, part in value.items():
            lines = _assigned(lines, (*path, key), part)
        return lines
    parent = path[:-1]
    beside = [s for s in statements if s.table == parent] or [
        s for s in statements if s.path[: len(parent)] == parent and not s.is_header
    ]
    if not beside:
        return lines
    at, newline = beside[-1].end, _newline("".join(lines))
    key = _toml_key(path[len(beside[-1].table) :])
    line = f"{_margin(lines[at - 1], 0)}{key} = {_toml(value)}{newline}"
    return [*_ended(lines[:at], newline), line, *lines[at:]]


def _replaced(lines: list[str], statement: _Statement, value: Any) -> list[str]:
    key = statement.path[len(statement.table) :]
    present: Any = _loads(lines[statement.start : statement.end])
    for part in key:
        present = present[part]
    if isinstance(value, dict) and isinstance(present, dict):
        value = _merged(present, value)
    if value == present:
        return lines
    last = lines[statement.end - 1]
    end = last[len(last.rstrip("\r\n")) :]
    line = f"{_margin(lines[statement.start], 0)}{_toml_key(key)} = {_toml(value)}{end}"
    return [*lines[: statement.start], line, *lines[statement.end :]]


def _ended(lines: list[str], newline: str) -> list[str]:
    if not lines or lines[-1].endswith("\n"):
        return lines
    return [*lines[:-1], lines[-1] + newline]


def _toml_without(lines: list[str], path: _Path) -> list[str]:
    statements = list(_statements(lines))
    gone: set[int] = set()
    for statement, following in zip_longest(statements, statements[1:]):
        if statement.path[: len(path)] == path:
            # What stands between two parts of the entry goes with them.
            goes_on = following is not None and following.path[: len(path)] == path
            gone.update(range(statement.start, following.start if goes_on else statement.end))
    for at in sorted(gone):
        after = next(i for i in range(at, len(lines) + 1) if i not in gone)
        is_last = after == len(lines) or not lines[after].strip()
        if at > 0 and at - 1 not in gone and not lines[at - 1].strip() and is_last:
            gone.add(at - 1)
    return [line for at, line in enumerate(lines) if at not in gone]


def _statements(lines: list[str]) -> Iterator[_Statement]:
    table: _Path = ()
    at = 0
    while at < len(lines):
        line, end = lines[at].strip(), at + 1
        if line and line[0] != "#":
            while end < len(lines) and not _is_whole(lines[at:end]):
                end += 1
            if line[0] == "[":
                table = _path(_loads([line]))
            yield _Statement(table, table if line[0] == "[" else table + _key(line), at, end)
        at = end


def _loads(lines: list[str]) -> dict[str, Any]:
    return tomllib.loads("".join(lines), parse_float=_number)


def _is_whole(lines: list[str]) -> bool:
    try:
        _loads(lines)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _key(line: str) -> _Path:
    """Read the key of a statement, which may be dotted and hold quoted parts with equals signs."""
    signs = (at for at, letter in enumerate(line) if letter == "=")
    return next(_path(_loads([line[:at] + "=0"])) for at in signs if _is_whole([line[:at] + "=0"]))


def _path(data: Any) -> _Path:
    path: _Path = ()
    while isinstance(data, dict | list) and data:
        if isinstance(data, list):
            data = data[0]
            continue
        ((key, data),) = data.items()
        path += (key,)
    return path


def _toml_key(path: _Path) -> str:
    return ".".join(key if _BARE_KEY.fullmatch(key) else _toml(key) for key in path)


def _toml(value: Any) -> str:
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case (str(number),) if isinstance(value, tuple):
            return number
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            pairs = ", ".join(f"{_toml_key((k,))} = {_toml(v)}" for k, v in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case _:
            return str(value.isoformat())
