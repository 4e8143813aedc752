"""Changes a configuration text where it must change and nowhere else.

Comments, order, spacing, number forms and line ends of all the rest stay as a person left them.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Any

import tomlkit
import yaml
from tomlkit.exceptions import TOMLKitError

from minutebook.features.install.json_edits import BOM, JSON, bare, json_edited, newline_of, number
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import Reason

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
    text = text.removeprefix(BOM)
    try:
        if format is Format.TOML:
            return tomllib.loads(text, parse_float=number)
        if format is Format.YAML:
            return _read_yaml(text, source)
        data = JSON.decode(bare(text) if format is Format.JSONC else text) if text.strip() else {}
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
    format: Format,
    text: str,
    section: str,
    name: str,
    entry: Mapping[str, Any] | None,
    original: str = "",
) -> str | None:
    """Merge an entry into `section.name` of a text that `read` accepts, or take it out with None.

    An entry holds texts, switches, lists of texts and tables of texts; tables merge, all else replaces, and
    what it does not name stays (a merge patch, RFC 7396). A section that is empty without the entry goes with it,
    unless `original`, the text before the entry came, has it. Gives None when the text is laid out so
    that only a person can change it: the result, read again, must say just what it should.
    """
    data = read(format, text, "before")
    merged = _merged(data, {section: {name: entry}})
    if merged == data:
        return text
    bom, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    try:
        known = read(format, original, "original")
        if format is Format.YAML:
            left = merged.get(section, {}).get(name)
            body = _yaml_edited(body, section, name, left, original)
        elif format is Format.TOML and entry is None:
            body = _toml_without(body, section, name)
        elif format is Format.TOML:
            body = _toml_with(body, section, name, entry or {})
        else:
            body = json_edited(
                body, without_empties(merged, data, known) if entry is None else merged
            )
        if entry is None and original and text.startswith(body.rstrip(), len(bom)):
            body = body.rstrip() + original[len(original.rstrip()) :]
        proven = _pruned(read(format, body, "after")) == _pruned(merged)
    except (InvalidInput, TOMLKitError, yaml.YAMLError):
        return None
    return bom + body if proven else None


def without_empties(
    after: Mapping[str, Any], before: Mapping[str, Any], original: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `after` without the tables and lists that became empty since `before`, except those of `original`."""
    kept = {}
    for key, value in after.items():
        was, at_first = before.get(key), original.get(key)
        if isinstance(value, dict) and isinstance(was, dict):
            at_first = at_first if isinstance(at_first, dict) else {}
            value = without_empties(value, was, at_first)
        if value or value == was or key in original:
            kept[key] = value
    return kept


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


# TOML.


def _toml_with(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    newline = newline_of(text)
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
    return tomllib.loads("".join(lines), parse_float=number)


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
        f"tag:yaml.org,2002:{_tag}", lambda loader, node: number(loader.construct_scalar(node))
    )


class _YamlWriter(yaml.SafeDumper):  # type: ignore[misc]
    """Writes them as they were."""

    def as_read(self, value: tuple[str]) -> Any:
        """Return the node of a number or a time."""
        tag = self.resolve(yaml.ScalarNode, value[0], (True, False))
        return self.represent_scalar(tag, value[0])


_YamlWriter.add_representer(tuple, _YamlWriter.as_read)


def _yaml_edited(
    text: str, section: str, name: str, entry: Mapping[str, Any] | None, original: str
) -> str:
    """Put an entry in the place of the one by that name, or first in its section; None takes it out.

    A section without entries is as it was in `original`. Where the text is laid out in another way it comes back as it is, or wrong: `edited` finds out.
    """
    newline, lines = newline_of(text), _LINE.findall(text)
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
        heads = (line for line in _LINE.findall(original) if _yaml_key(line) == (0, section))
        had_entries = bool((yaml.safe_load(original) or {}).get(section))
        # Without a value it would be null, in place of a table of none.
        lines[head] = re.sub(
            r":(\s)", r": {}\1" if had_entries else r":\1", next(heads, ""), count=1
        )
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
    for following in range(at + 1, len(lines)):
        line = lines[following]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip(" ")) <= margin and not line.lstrip().startswith("- "):
            break
        last = following
    return last + 1
