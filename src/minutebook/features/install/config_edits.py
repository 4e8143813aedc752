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

import tomlkit
import yaml
from tomlkit.exceptions import TOMLKitError

from minutebook.domain.errors import InvalidInput
from minutebook.domain.reason import Reason

_BOM = "\ufeff"
_SPACES = re.compile(r"[ \t]*")
_Path = tuple[str, ...]

Value = str | bool | list[str] | dict[str, str]
"""What an entry holds under a key."""


class Format(StrEnum):
    """How a configuration is written: strict JSON, JSON with comments, TOML, YAML."""

    JSON = "json"
    JSONC = "jsonc"
    TOML = "toml"
    YAML = "yaml"


def read(format: Format, text: str, source: str) -> dict[str, Any]:
    """Read a configuration; an empty text is an empty one, and numbers come as they are written.

    Raises InvalidInput if it cannot be parsed, with the source, the fault and its line.
    """
    text = text.removeprefix(_BOM)
    try:
        if format is Format.TOML:
            return tomllib.loads(text, parse_float=_number)
        if format is Format.YAML:
            return _read_yaml(text, source)
        data = _JSON.decode(_bare(format, text)) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise _unreadable(source, format, error.msg, error.lineno, error.colno) from error
    except ValueError as error:
        raise _unreadable(source, format, str(error)) from error
    except RecursionError as error:
        raise _unreadable(source, format, Reason("it is nested too deeply")) from error
    if not isinstance(data, dict):
        raise _unreadable(source, format, Reason("it is no object"), 1, 1)
    return data


def _unreadable(
    source: str, format: Format, fault: str, line: int | None = None, column: int | None = None
) -> InvalidInput:
    if column is not None:
        fault = Reason(
            "{fault} (at line {line}, column {column})", fault=fault, line=line, column=column
        )
    elif line is not None:
        fault = Reason("{fault} (at line {line})", fault=fault, line=line)
    kind = format.name.removesuffix("C")
    remedy = "must be valid {kind}; correct this by hand first: {fault}"
    return InvalidInput(source, remedy, kind=kind, fault=fault)


def edited(
    format: Format, text: str, section: str, name: str, entry: Mapping[str, Any] | None
) -> str | None:
    """Merge an entry into `section.name` of a text that `read` accepts, or take it out with None.

    An entry holds texts, switches, lists of texts and tables of texts; tables merge, all else replaces, and
    what it does not name stays (a merge patch, RFC 7396). Gives None when the text is laid out so
    that only a person can change it: the result, read again, must say just what it should.
    """
    data = read(format, text, "before")
    merged = _merged(data, {section: {name: entry}})
    if merged == data:
        return text
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    try:
        if format is Format.YAML:
            body = _yaml_edited(body, section, name, merged.get(section, {}).get(name))
        elif format is Format.TOML and entry is None:
            body = _toml_without(body, section, name)
        elif format is Format.TOML:
            body = _toml_with(body, section, name, entry or {})
        elif entry is None:
            body = _json_without(body, (section, name))
        else:
            body = _json_with(body, {section: {name: entry}})
        proven = _pruned(read(format, body, "after")) == _pruned(merged)
    except (InvalidInput, TOMLKitError, yaml.YAMLError):
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


# TOML.


def _toml_with(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    newline = _newline(text)
    lines, path = _LINE.findall(text), (section, name)
    statements = list(_statements(lines))
    ours = [each for each in statements if each.path[:2] == path]
    if ours:
        # The tables that hold the entry, alone: tomlkit moves others that stand between two of them.
        heads = [each.start for each in statements if each.is_header]
        start = max((head for head in heads if head <= ours[0].start), default=0)
        document = tomlkit.parse("".join(lines[start : ours[-1].end]))
        _merge_toml(document[section][name], entry)
        changed = re.sub(r"\r?\n", newline, document.as_string())
        return "".join([*lines[:start], changed, *lines[ours[-1].end :]])
    servers, server = tomlkit.table(is_super_table=True), tomlkit.table()
    _merge_toml(server, entry)
    block = tomlkit.document().append(section, servers.append(name, server)).as_string()
    end = "" if not text or text.endswith("\n") else newline
    gap = newline if text.strip() and not text.endswith((2 * "\n", 2 * "\r\n")) else ""
    return f"{text}{end}{gap}{block.replace(chr(10), newline)}"


def _merge_toml(table: Any, entry: Mapping[str, Any]) -> None:
    for key, value in entry.items():
        if isinstance(value, dict) and isinstance(table.get(key), dict):
            _merge_toml(table[key], value)
        elif isinstance(value, dict):
            table[key] = tomlkit.inline_table()
            _merge_toml(table[key], value)
        elif table.get(key) != value:
            table[key] = value


# A statement of TOML ends with the first line at which the standard parser finds it whole, so that the
# parser, and nothing here, decides what strings and arrays over many lines are. tomlkit would move
# the tables around the one that it takes out.

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class _Statement:
    path: _Path
    start: int
    end: int
    is_header: bool


def _toml_without(text: str, section: str, name: str) -> str:
    lines, path = _LINE.findall(text), (section, name)
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
    return "".join(line for at, line in enumerate(lines) if at not in gone)


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
            is_header = line[0] == "["
            yield _Statement(table if is_header else table + _key(line), at, end, is_header)
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


# YAML. PyYAML writes nothing back as it was, so that an entry is a block of lines between others: the
# parser says what the text holds, before and after, and anything but such a block is left to a person.

_YAML_KEY = re.compile(r"( *)(?:'([^']*)'|\"([^\"\\]*)\"|([^\s'\"#:][^:#]*?)) *:(?=\s|$)")


def _read_yaml(text: str, source: str) -> dict[str, Any]:
    try:
        data = yaml.load(text, Loader=_YamlReader)  # noqa: S506 - a SafeLoader that keeps numbers as written
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = () if mark is None else (mark.line + 1, mark.column + 1)
        raise _unreadable(source, Format.YAML, str(error.problem), *place) from error
    except yaml.YAMLError as error:
        raise _unreadable(source, Format.YAML, str(error).splitlines()[0], 1) from error
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise _unreadable(source, Format.YAML, Reason("it is no table of names"), 1)
    return {key: {} if value is None else value for key, value in data.items()}


class _YamlReader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads numbers and times as the texts that they are written as, in a tuple."""


for _tag in ("int", "float", "timestamp"):
    _YamlReader.add_constructor(
        f"tag:yaml.org,2002:{_tag}", lambda loader, node: _number(loader.construct_scalar(node))
    )


class _YamlWriter(yaml.SafeDumper):  # type: ignore[misc]
    """Writes them as they were."""

    def as_read(self, value: tuple[str]) -> Any:
        """Return the node of a number or a time."""
        tag = self.resolve(yaml.ScalarNode, value[0], (True, False))
        return self.represent_scalar(tag, value[0])


_YamlWriter.add_representer(tuple, _YamlWriter.as_read)


def _yaml_edited(text: str, section: str, name: str, entry: Mapping[str, Any] | None) -> str:
    """Put an entry in the place of the one by that name, or first in its section; None takes it out.

    Where the text is laid out in another way it comes back as it is, or wrong: `edited` finds out.
    """
    newline, lines = _newline(text), _LINE.findall(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    head = next((at for at, line in enumerate(lines) if _yaml_key(line) == (0, section)), None)
    if head is None:
        lines.append(f"{section}:{newline}")
        head = len(lines) - 1
    lines[head] = re.sub(r":\s*\{\s*\}", ":", lines[head], count=1)
    end = _yaml_end(lines, head, 0)
    inside = [(at, key) for at in range(head + 1, end) if (key := _yaml_key(lines[at])) is not None]
    margin = inside[0][1][0] if inside else 2
    block = "" if entry is None else _yaml_block(name, entry, margin, newline)
    at = next((at for at, key in inside if key == (margin, name)), None)
    if at is None:
        return "".join([*lines[: head + 1], block, *lines[head + 1 :]])
    after = _yaml_end(lines, at, margin)
    if entry is None and [key for _, key in inside if key[0] == margin] == [(margin, name)]:
        lines[head] = f"{section}: {{}}{newline}"
    return "".join([*lines[:at], block, *lines[after:]])


def _yaml_block(name: str, entry: Mapping[str, Any], margin: int, newline: str) -> str:
    tree = {name: dict(entry)}
    written = yaml.dump(
        tree, Dumper=_YamlWriter, sort_keys=False, allow_unicode=True, width=1_000_000
    )
    return "".join(f"{' ' * margin}{line}{newline}" for line in written.splitlines())


def _yaml_key(line: str) -> tuple[int, str] | None:
    found = _YAML_KEY.match(line)
    if found is None:
        return None
    return len(found[1]), next(part for part in found.groups()[1:] if part is not None)


def _yaml_end(lines: list[str], at: int, margin: int) -> int:
    """Return the line after the block that a key at this margin begins."""
    last = at
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip(" ")) <= margin and not line.lstrip().startswith("- "):
            break
        last = number
    return last + 1
