"""Exports of a person's conversations become sessions, from a file or a zip that may be hostile."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.importers.sources.reading import json_arrays
from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.writing.source_drafts import Found, TurnDraft, UnreadPart


def node(id: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {
        "id": id,
        "author": {"role": role},
        "create_time": 1699564800.0 + len(id),
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {"model_slug": "gpt-4"} if role == "assistant" else {},
        "recipient": "all",
        **more,
    }
    return {"id": id, "message": message, "parent": parent, "children": []}


CHATGPT = {
    "id": "c1",
    "title": "Tea",
    "create_time": 1699564800.0,
    "current_node": "a2",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["u1"]},
        "u1": node("u1", "root", "user", "Which tea?"),
        "a1": node("a1", "u1", "assistant", "Black."),
        "t0": node("t0", "u1", "assistant", 'search("tea")', recipient="browser"),
        "t1": node("t1", "t0", "tool", "Green is well liked."),
        "a2": node("a2", "t1", "assistant", "Green."),
    },
}
CLAUDE = {
    "uuid": "k1",
    "name": "Coffee",
    "created_at": "2025-03-01T10:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "Which coffee?",
            "content": [{"type": "text", "text": "Which coffee?"}],
            "created_at": "2025-03-01T10:00:00.123456Z",
            "attachments": [{"file_name": "list.txt", "extracted_content": "Arabica"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "That."}],
            "created_at": "2025-03-01T10:00:05Z",
        },
    ],
}


def found(path: Path) -> list[Found]:
    kind = SOURCES["chat-export"]
    return list(found_in(kind.files(path), kind))


def turns(told: list[Found]) -> list[TurnDraft]:
    return [each for each in told if isinstance(each, TurnDraft)]


def reasons(told: list[Found]) -> list[str]:
    return [each.reason for each in told if isinstance(each, UnreadPart)]


def archived(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_the_branch_that_was_seen_last_is_a_session(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps([CHATGPT, CLAUDE], indent=1))
    told = found(tmp_path)
    tea, coffee = turns(told)
    assert (tea.session, tea.program, tea.prompt) == ("c1", "chatgpt", "Which tea?")
    assert tea.thought.split("\n\n") == [
        "[title Tea; model gpt-4]",
        '[browser] search("tea")',
        "→ Green is well liked.",
    ]
    assert tea.response == "Green."
    assert coffee.prompt == "Which coffee?\n\n[list.txt]\nArabica"
    assert (coffee.thought, coffee.response) == ("[title Coffee]\n\nHm.", "That.")
    assert coffee.at.microsecond == 123456
    assert reasons(told) == ["messages that were edited or answered anew since"]


@pytest.mark.parametrize(
    ("named", "later", "answer"),
    [
        (None, {}, "Green."),
        ("gone", {}, "Green."),
        (7, {}, "Green."),
        (None, {"create_time": 1699569999}, "Black."),
        ("a1", {}, "Black."),
    ],
)
def test_without_a_current_node_the_newest_branch_is_a_session(
    tmp_path: Path, named: object, later: dict[str, Any], answer: str
) -> None:
    mapping = json.loads(json.dumps(CHATGPT["mapping"]))
    mapping["a1"] = node("a1", "u1", "assistant", "Black.", **later)
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{**CHATGPT, "mapping": mapping, "current_node": named}]))
    told = found(path)
    (turn,) = turns(told)
    assert turn.response == answer
    assert reasons(told) == ["messages that were edited or answered anew since"]


def test_an_archive_is_read_where_it_is(tmp_path: Path) -> None:
    content = json.dumps([CHATGPT]).encode()
    members = {"../../up/conversations.json": content, "user.json": b"{}", "chat.html": b"<"}
    told = found(archived(tmp_path / "data.zip", **members))
    assert len(turns(told)) == 1
    assert turns(told)[0].place.file == f"{tmp_path / 'data.zip'}/conversations.json"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data.zip"]


def test_a_bomb_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_arrays, "LARGEST_ELEMENT", 2_000_000)
    monkeypatch.setattr(json_arrays, "LARGEST_MEMBER", 20_000_000)
    large = b'[{"a": "' + b"x" * 10_000_000
    assert (
        "longer" in reasons(found(archived(tmp_path / "a.zip", **{"conversations.json": large})))[0]
    )
    blank = b"[" + b" " * 30_000_000
    assert (
        "more than"
        in reasons(found(archived(tmp_path / "b.zip", **{"conversations.json": blank})))[0]
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\3\4",
        b"[{",
        b"[{}, {]",
        b"\xff\xfe[",
        b"[" * 100_000,
        b"7",
        b"[7, null, []]",
        b"{}",
    ],
)
def test_what_is_no_export_is_left_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "conversations.json").write_bytes(content)
    assert not turns(found(tmp_path))
    (tmp_path / "a.zip").write_bytes(content)
    assert reasons(found(tmp_path / "a.zip"))


def test_what_follows_a_long_element_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_arrays, "_PIECE", 7)
    items = [{**CHATGPT, "id": f"c{n}", "current_node": "u1"} for n in range(5)]
    (tmp_path / "conversations.json").write_text(json.dumps(items), encoding="utf-8-sig")
    assert [each.session for each in turns(found(tmp_path))] == ["c0", "c1", "c2", "c3", "c4"]


WEIRD: tuple[Any, ...] = (None, 7, [], {}, "", [None], [{}], {"a": {"parent": "a"}})


def test_no_value_of_another_type_ends_the_reading(tmp_path: Path) -> None:
    hostile: list[Any] = []
    for whole in (CHATGPT, CLAUDE):
        hostile += [{**whole, field: value} for field in whole for value in WEIRD]
    for first in CLAUDE["chat_messages"][:1]:
        for field in first:
            for value in WEIRD:
                hostile.append({**CLAUDE, "chat_messages": [{**first, field: value}]})  # type: ignore[dict-item]
    message = CHATGPT["mapping"]["a2"]["message"]  # type: ignore[index]
    for field in message:
        for value in WEIRD:
            changed = {**CHATGPT["mapping"], "a2": {"message": {**message, field: value}}}  # type: ignore[dict-item]
            hostile.append({**CHATGPT, "mapping": changed})
    (tmp_path / "conversations.json").write_text(json.dumps(hostile))
    assert found(tmp_path)


def test_an_archive_of_elements_without_end_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_arrays, "MOST_ELEMENTS", 3)
    told = found(archived(tmp_path / "a.zip", **{"conversations.json": b"[{},{},{},{},{}]"}))
    assert [each for each in reasons(told) if "more than 3 elements" in each]
    assert len(reasons(told)) == 4
