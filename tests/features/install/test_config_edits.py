import json
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.install.config_edits import Format, edited, read
from minutebook.record.errors import InvalidInput

Drawn = tuple[str, Any]
Entry = Mapping[str, Any]

ENTRY: Entry = {
    "command": "/opt/mine book/bin/minutebook",
    "args": ["serve"],
    "env": {"HOME_OF": "é"},
}


def changed(format: Format, text: str, section: str, name: str, entry: Entry | None) -> str:
    after = edited(format, text, section, name, entry)
    assert after is not None
    return after


# Texts drawn as a person may have written them: any layout, few names, so that ours is among them.

names = st.sampled_from(["a", "minutebook", "mcpServers", "b//c", "d,}", 'e"f', "é\u2028", ""])
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([1.5, 1e300, 10**30]),
    st.sampled_from(["", "// no comment", "/* nor */ this", "a,}", "\\", '"', "\u0007", "😀", "é"]),
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
entries = st.dictionaries(st.sampled_from(["command", "args", "timeout", "trust"]), values)
servers = st.dictionaries(st.sampled_from(["a", "minutebook", "é f"]), entries, max_size=3)
others = st.dictionaries(names.filter(lambda name: name != "mcpServers"), values, max_size=3)
configurations = others | st.builds(
    lambda rest, found: {**rest, "mcpServers": found}, others, servers
)
blanks = st.sampled_from(["", " ", "\n", "\n  ", "\n\t", "\r\n    "])
comments = st.sampled_from(["", "", ' // a, "b": {\n', "/* } , */", "\n  // c\r\n  "])


def written(draw: st.DrawFn, value: Any, *, commented: bool) -> str:
    """Write a value with blanks, and comments and trailing commas, wherever they may stand."""

    def gap() -> str:
        return draw(blanks) + (draw(comments) if commented else "")

    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        parts = []
        for key, item in pairs:
            name = "" if key is None else json.dumps(key, ensure_ascii=draw(st.booleans()))
            start = f"{gap()}{name}{gap()}:{gap()}" if name else gap()
            parts.append(start + written(draw, item, commented=commented) + gap())
        comma = "," if commented and draw(st.booleans()) else ""
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return opening + ",".join(parts) + comma + gap() + closing
    return json.dumps(value)


@st.composite
def json_texts(draw: st.DrawFn, *, commented: bool) -> Drawn:
    data = draw(configurations)
    text = written(draw, data, commented=commented)
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n"])), data


def plain(value: Any) -> Any:
    """Undo the reading of numbers as written."""
    if isinstance(value, tuple):
        return json.loads(value[0])
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def with_entry(data: Any, section: str, entry: Entry) -> Any:
    """Say what a configuration should hold afterwards, in the plainest way."""
    data = json.loads(json.dumps(data))
    old = data.setdefault(section, {}).setdefault("minutebook", {})
    for key, value in entry.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            old[key].update(value)
        else:
            old[key] = value
    return data


def is_kept(before: str, after: str) -> bool:
    """Tell whether every letter of one text is in the other, in the same order."""
    rest = iter(after)
    return all(letter in rest for letter in before if not letter.isspace())


@given(json_texts(commented=False))
def test_an_entry_is_merged_into_any_json_and_the_rest_says_what_it_said(drawn: Drawn) -> None:
    text, data = drawn
    after = changed(Format.JSON, text, "mcpServers", "minutebook", ENTRY)
    assert json.loads(after.removeprefix("\ufeff")) == with_entry(data, "mcpServers", ENTRY)


@given(json_texts(commented=True))
def test_an_entry_is_merged_into_any_commented_json_and_the_rest_says_what_it_said(
    drawn: Drawn,
) -> None:
    text, data = drawn
    after = changed(Format.JSONC, text, "mcpServers", "minutebook", ENTRY)
    assert plain(read(Format.JSONC, after, "")) == with_entry(data, "mcpServers", ENTRY)


@given(json_texts(commented=True))
def test_a_new_entry_leaves_every_letter_of_commented_json_in_place(drawn: Drawn) -> None:
    text, data = drawn
    if "minutebook" not in data.get("mcpServers", {}):
        after = changed(Format.JSONC, text, "mcpServers", "minutebook", ENTRY)
        assert is_kept(text, after)


@given(json_texts(commented=True))
def test_merging_twice_into_json_is_merging_once(drawn: Drawn) -> None:
    text, _ = drawn
    once = changed(Format.JSONC, text, "mcpServers", "minutebook", ENTRY)
    assert changed(Format.JSONC, once, "mcpServers", "minutebook", ENTRY) == once


@given(json_texts(commented=True))
def test_taking_an_entry_out_of_json_leaves_all_others(drawn: Drawn) -> None:
    text, data = drawn
    wanted = json.loads(json.dumps(data))
    wanted.get("mcpServers", {}).pop("minutebook", None)
    after = edited(Format.JSONC, text, "mcpServers", "minutebook", None, text)
    assert after is not None
    assert plain(read(Format.JSONC, after, "")) == wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "minutebook": {\n      "command": "x"\n    }\n  }\n}\n'),
        ('{"a":1}', '{"a":1, "s": {"minutebook": {"command": "x"}}}'),
        (
            '{\r\n\t"s": {\r\n\t\t"b": {} // last\r\n\t}\r\n}',
            '{\r\n\t"s": {\r\n\t\t"b": {}, // last\r\n\t\t"minutebook": {\r\n\t\t\t"command": "x"'
            "\r\n\t\t}\r\n\t}\r\n}",
        ),
        (
            '{"s": {"minutebook": {"command": "old", "timeout": 1.50}}} // end',
            '{"s": {"minutebook": {"command": "x", "timeout": 1.50}}} // end',
        ),
    ],
    ids=["nothing", "one line", "tabs, comment and CRLF", "an older entry"],
)
def test_json_is_written_in_the_manner_of_the_text(before: str, after: str) -> None:
    assert changed(Format.JSONC, before, "s", "minutebook", {"command": "x"}) == after


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ('{"a": 1,}', "line 1"),
        ('{\n // c\n "a": 1}', "line 2"),
        ('{"a": "never closed}', "line 1"),
        ("[]", "line 1"),
        ("nonsense", "line 1"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
    ids=lambda value: value[:20],
)
def test_broken_json_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        changed(Format.JSON, text, "s", "minutebook", ENTRY)
    assert where in refused.value.remedy


def test_an_entry_given_twice_is_changed_once_and_taken_out_whole() -> None:
    text = '{"s": {"minutebook": {"command": "1"}, "minutebook": {"command": "2"}}}'
    after = changed(Format.JSON, text, "s", "minutebook", {"command": "x"})
    assert json.loads(after) == {"s": {"minutebook": {"command": "x"}}}
    assert edited(Format.JSON, text, "s", "minutebook", None) == "{}"


# TOML, drawn as a row of blocks, each valid beside every other.

toml_blocks = [
    "# a comment with [mcp_servers.minutebook]\n",
    "[mcp_servers.a]\ncommand = 'x' # kept\n\n[mcp_servers.a.env]\nB = '2'\n",
    '[mcp_servers."b c"]\nargs = [\n  "[mcp_servers.minutebook]", # [z]\n]\n',
    'prompt.text = """\n[mcp_servers.minutebook]\ncommand = "no"\n"""\n',
    "[profiles.'x=y']\n'k=1' = {a = 1, \"b=c\" = [1.50, 2]}\n\n",
    "[[rows]]\nat = 1979-05-27T07:32:00Z\n[[rows]]\nn = nan\n\n\n",
    "[tools]\n\t# indented\n\tweb = true\n",
    "\n",
]
our_blocks = st.sampled_from(
    [
        "",
        "[mcp_servers.minutebook]\ncommand = 'old' # mine\nstartup_timeout_sec = 20\n",
        '[mcp_servers . "minutebook"]\nargs = [\n "a",\n]\nenv = {HOME_OF = "", B = "2"}\n',
        "[mcp_servers.minutebook]\n  command = 'x'\n  env.B = '2'\n",
        "[mcp_servers.minutebook]\n[mcp_servers.minutebook.env]\nB = '2'\n# after\n",
        '[mcp_servers]\nminutebook = {command = "x", env = {B = "2"}}\n',
        '[mcp_servers]\nminutebook.env = {A = "x"}\nminutebook.command = "x"\n',
        "[mcp_servers.minutebook.tools.search]\nmode = 'ask'\n[mcp_servers.minutebook]\nx = 1\n",
    ]
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    blocks = draw(st.lists(st.sampled_from(toml_blocks), unique=True))
    # What is outside tables must come first.
    blocks.sort(key=lambda block: "[" not in block.split("\n")[0])
    blocks.sort(key=lambda block: not block.startswith("prompt"))
    at = draw(st.integers(0, len(blocks)))
    if at < len(blocks) and blocks[at].startswith("prompt"):
        at += 1
    text = "".join([*blocks[:at], draw(our_blocks), *blocks[at:]])
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def toml_with(data: Any, entry: Entry) -> Any:
    ours = data.setdefault("mcp_servers", {}).setdefault("minutebook", {})
    for key, value in entry.items():
        if isinstance(value, dict):
            ours.setdefault(key, {}).update(value)
        else:
            ours[key] = value
    return data


def loads(text: str) -> Any:
    return tomllib.loads(text, parse_float=str)


@given(toml_texts())
def test_an_entry_is_merged_into_any_toml_and_the_rest_says_what_it_said(text: str) -> None:
    after = changed(Format.TOML, text, "mcp_servers", "minutebook", ENTRY)
    assert loads(after) == toml_with(loads(text), ENTRY)
    assert changed(Format.TOML, after, "mcp_servers", "minutebook", ENTRY) == after
    plain, shown = text.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    kept = sorted((plain.index(block), block) for block in toml_blocks if block in plain)
    places = [shown.index(block) for _, block in kept]
    assert places == sorted(places)


@given(toml_texts())
def test_a_new_entry_is_added_below_all_other_toml(text: str) -> None:
    if "minutebook" not in loads(text).get("mcp_servers", {}):
        after = changed(Format.TOML, text, "mcp_servers", "minutebook", ENTRY)
        assert after.startswith(text)
        removed = changed(Format.TOML, after, "mcp_servers", "minutebook", None)
        assert removed.rstrip("\r\n") == text.rstrip("\r\n")


@given(toml_texts())
def test_taking_an_entry_out_of_toml_leaves_all_other_lines(text: str) -> None:
    after = changed(Format.TOML, text, "mcp_servers", "minutebook", None)
    wanted = loads(text)
    if wanted.get("mcp_servers", {}).pop("minutebook", None) is None:
        assert after == text
    else:
        assert {"mcp_servers": {}} | loads(after) == wanted
    kept = [block.strip() for block in toml_blocks if block in text.replace("\r\n", "\n")]
    assert [block for block in kept if block not in after.replace("\r\n", "\n")] == []


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_any_text_comes_back_from_json_and_toml_as_it_was(text: str) -> None:
    entry = {"command": text, "args": [text], "env": {"A": text}}
    assert json.loads(changed(Format.JSON, "", "s", "n", entry))["s"]["n"] == entry
    assert tomllib.loads(changed(Format.TOML, "", "s", "n", entry))["s"]["n"] == entry


@pytest.mark.parametrize("entry", [ENTRY, None], ids=["add", "remove"])
def test_servers_in_one_toml_line_are_left_to_a_person(entry: Entry | None) -> None:
    text = 'mcp_servers = {minutebook = {command = "x"}, a = {command = "x"}}\n'
    assert edited(Format.TOML, text, "mcp_servers", "minutebook", entry) is None


def test_broken_toml_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput) as refused:
        changed(Format.TOML, "a = 1\nb 2\n", "s", "minutebook", ENTRY)
    assert "line 2" in refused.value.remedy


# YAML: an entry is a block of lines between others, or a person's to edit.

GOOSE = """\
# models
GOOSE_MODEL: "gpt: 5"   # mine
since: 2026-01-31
extensions:
    # those that I use
    developer:
        enabled: true
        timeout: 300

    'minutebook':   # ours
        enabled: false
        timeout: 0o17
        cmd: old
        notes:
        - one

    other: {type: builtin}

# the end
TAIL: |
  minutebook:
    cmd: no
"""
YAML_ENTRY: Entry = {"type": "stdio", "enabled": True, "cmd": "/a b/x", "args": ["serve: #x", "é"]}


def test_a_yaml_entry_is_changed_in_its_place_and_nothing_else_is() -> None:
    after = changed(Format.YAML, GOOSE, "extensions", "minutebook", YAML_ENTRY)
    start, end = GOOSE.index("    'minutebook'"), GOOSE.index("\n    other")
    assert after.startswith(GOOSE[:start])
    assert after.endswith(GOOSE[end:])
    assert yaml.safe_load(after)["extensions"]["minutebook"] == {
        **YAML_ENTRY,
        "timeout": "0o17",
        "notes": ["one"],
    }
    assert edited(Format.YAML, after, "extensions", "minutebook", YAML_ENTRY) == after
    gone = changed(Format.YAML, after, "extensions", "minutebook", None)
    assert gone == GOOSE[:start] + GOOSE[end:]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "a: 1",
        "a: 1\r\nextensions:\r\n",
        "extensions: {}  # none\n",
        "extensions:\nb: 2\n",
        "extensions:\n  # only this\n",
        "extensions:\n   x:\n      cmd: y\n",
        "\ufeffextensions:\n  x: {cmd: y}\n",
    ],
)
def test_a_yaml_entry_is_added_however_the_section_is_written(text: str) -> None:
    after = changed(Format.YAML, text, "extensions", "minutebook", YAML_ENTRY)
    before = yaml.safe_load(text.removeprefix("\ufeff")) or {}
    servers = before.get("extensions") or {}
    expected = {**before, "extensions": {**servers, "minutebook": YAML_ENTRY}}
    assert yaml.safe_load(after.removeprefix("\ufeff")) == expected
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in text) == ("\r\n" in after)
    assert edited(Format.YAML, after, "extensions", "minutebook", None, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "extensions: {a: {cmd: x}}\n",
        "{extensions: {a: {cmd: x}}}\n",
        "? extensions\n: a: {cmd: x}\n",
        "a: &all\n  b: 1\nextensions: *all\n",
    ],
)
def test_a_yaml_text_that_only_a_person_can_edit_is_left_to_them(text: str) -> None:
    assert edited(Format.YAML, text, "extensions", "minutebook", YAML_ENTRY) is None


yaml_names = st.sampled_from(["a", "minutebook", "é f", "extensions", "on", "7", "a: b", "# c"])
yaml_leaves = st.sampled_from([True, 7, 1.5, "x", "", "a: b", "# no", "two\nlines", "é", "null"])
yaml_entries = st.dictionaries(yaml_names, yaml_leaves | st.lists(yaml_leaves), max_size=3)
yaml_configurations = st.dictionaries(
    yaml_names.filter(lambda name: name != "extensions"), yaml_leaves | yaml_entries, max_size=3
)


@given(yaml_configurations, st.dictionaries(yaml_names, yaml_entries, max_size=3), st.data())
def test_what_is_drawn_as_yaml_holds_the_entry_afterwards_and_all_else(
    rest: dict[str, Any], servers: dict[str, Any], data: st.DataObject
) -> None:
    text = yaml.safe_dump(
        {**rest, "extensions": servers},
        indent=data.draw(st.sampled_from([2, 4])),
        sort_keys=data.draw(st.booleans()),
        allow_unicode=True,
    )
    after = edited(Format.YAML, text, "extensions", "minutebook", YAML_ENTRY)
    if after is None:
        return
    ours = {**servers.get("minutebook", {}), **YAML_ENTRY}
    assert yaml.safe_load(after) == {**rest, "extensions": {**servers, "minutebook": ours}}
    gone = edited(Format.YAML, after, "extensions", "minutebook", None, text)
    servers.pop("minutebook", None)
    assert gone is not None
    assert yaml.safe_load(gone) == {**rest, "extensions": servers}


def test_a_comment_before_an_entry_that_goes_ends_with_its_line() -> None:
    text = '{"mcpServers":{ // a\n"minutebook":{}}}'
    after = edited(Format.JSONC, text, "mcpServers", "minutebook", None, text)
    assert after == '{"mcpServers":{ // a\n}}'


def test_a_section_of_yaml_that_had_our_entry_alone_is_a_table_of_none() -> None:
    text = "extensions: # ours\n  minutebook: {}\n"
    after = edited(Format.YAML, text, "extensions", "minutebook", None, text)
    assert after == "extensions: {} # ours\n"
