"""Edit the text of a configuration, and leave all else in it unchanged.

Comments, order, spacing, the spelling of numbers and line ends stay.
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
"""A value in an entry."""


class Format(StrEnum):
    """The format of a configuration: JSON, JSON with comments, TOML, YAML."""

    JSON = "json"
    JSONC = "jsonc"
    TOML = "toml"
    YAML = "yaml"


def read(format: Format, text: str, source: str) -> dict[str, Any]:
    """Return a configuration, {} for an empty text; numbers are tuples of their texts.

    Raises InvalidInput, with source, fault and line, if it cannot be parsed.
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
    """Return a text with an entry merged into `section.name`, or with None for the entry without it.

    The text must be one that `read` accepts. Tables are merged, other values are replaced, and keys that the entry
    does not have stay (a merge patch, RFC 7396). A section that becomes empty is removed, unless `original`, the
    text before the first entry of ours, has it. Returns None if the edited text, read again, is not as it should be:
    only a person can edit that layout.
    """
    data = read(format, text, "before")
    merged = _merged(data, {section: {name: entry}})
    if merged == data:
        return text
    bom, body = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    try:
        known = read(format, original, "original")
        if format is Format.YAML:
            remaining = merged.get(section, {}).get(name)
            body = _yaml_edited(body, section, name, remaining, original)
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
        earlier, first = before.get(key), original.get(key)
        if isinstance(value, dict) and isinstance(earlier, dict):
            value = without_empties(value, earlier, first if isinstance(first, dict) else {})
        if value or value == earlier or key in original:
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
    # Without empty tables, which TOML may write or not.
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
        # Only the lines of the entry's tables: tomlkit would move other tables between them.
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


# A statement of TOML ends with the first line at which the standard parser accepts it, so that the parser
# decides how far strings and arrays over many lines go. Entries are not taken out by tomlkit, which would
# move the tables around them.

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
    removed: set[int] = set()
    for statement, following in zip_longest(statements, statements[1:]):
        if statement.path[: len(path)] == path:
            # Lines between two statements of the entry are removed as well.
            is_followed = following is not None and following.path[: len(path)] == path
            end = following.start if is_followed else statement.end
            removed.update(range(statement.start, end))
    for index in sorted(removed):
        after = next(i for i in range(index, len(lines) + 1) if i not in removed)
        is_last = after == len(lines) or not lines[after].strip()
        # Of the blank lines before and after the entry one is enough.
        if index > 0 and index - 1 not in removed and not lines[index - 1].strip() and is_last:
            removed.add(index - 1)
    return "".join(line for index, line in enumerate(lines) if index not in removed)


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
    """Return the key of a statement, which may be dotted, and have quoted parts with equals signs."""
    beginnings = (line[:index] + "=0" for index, sign in enumerate(line) if sign == "=")
    return next(_path(_loads([each])) for each in beginnings if _is_whole([each]))


def _path(data: Any) -> _Path:
    path: _Path = ()
    while isinstance(data, dict | list) and data:
        if isinstance(data, list):
            data = data[0]
            continue
        ((key, data),) = data.items()
        path += (key,)
    return path


# YAML. PyYAML does not keep comments and layout, so an entry is edited as a block of lines. The parser reads
# the text before and after; any other layout is left to a person.

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
    """Reads numbers and times as tuples of their texts."""


for _tag in ("int", "float", "timestamp"):
    _YamlReader.add_constructor(
        f"tag:yaml.org,2002:{_tag}", lambda loader, node: number(loader.construct_scalar(node))
    )


class _YamlWriter(yaml.SafeDumper):  # type: ignore[misc]
    """Writes such tuples as the numbers and times that they were."""

    def as_read(self, value: tuple[str]) -> Any:
        """Return the node for a tuple with the text of a number or a time."""
        tag = self.resolve(yaml.ScalarNode, value[0], (True, False))
        return self.represent_scalar(tag, value[0])


_YamlWriter.add_representer(tuple, _YamlWriter.as_read)


def _yaml_edited(
    text: str, section: str, name: str, entry: Mapping[str, Any] | None, original: str
) -> str:
    """Return a text with an entry in place of the one of its name, or first in its section; with None without it.

    A section without entries becomes as it was in `original`. For an unknown layout the result may be wrong, which
    `edited` finds out.
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
        # A section without a value would be null, not an empty table.
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
    """Return the index of the line after the block that begins at `at` with a key at a margin."""
    last = at
    for following in range(at + 1, len(lines)):
        line = lines[following]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip(" ")) <= margin and not line.lstrip().startswith("- "):
            break
        last = following
    return last + 1
