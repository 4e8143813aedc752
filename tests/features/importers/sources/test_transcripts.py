"""Transcripts become turns: what was asked, how it was answered, and nothing that is no one's words."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.importers.sources.reading.conversation import LONGEST_PIECE
from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.writing.source_drafts import Found, TurnDraft, UnreadPart
from tests.features.importers.sources.transcripts import (
    SESSION,
    claude_session,
    codex_session,
    copilot_session,
    gemini_chat,
    gemini_messages,
    lines,
    message,
)


def found(name: str, path: Path) -> list[Found]:
    kind = SOURCES[name]
    return list(found_in(kind.files(path), kind))


def turns(name: str, path: Path) -> list[TurnDraft]:
    told = found(name, path)
    assert not [each for each in told if isinstance(each, UnreadPart)]
    return [each for each in told if isinstance(each, TurnDraft)]


def left_out(name: str, path: Path) -> list[str]:
    return [each.reason for each in found(name, path) if isinstance(each, UnreadPart)]


def test_a_turn_of_claude_code_has_its_way_to_the_answer_in_the_thought(tmp_path: Path) -> None:
    path = lines(tmp_path / "p" / f"{SESSION}.jsonl", *claude_session())
    first, second = turns("claude-code", tmp_path)
    assert first.prompt == "Why does the parser fail?"
    assert first.thought.split("\n\n") == [
        "[model claude-opus-4-5; folder /home/ana/proj; branch main]",
        "Look first.",
        "I look at it.",
        '[Read] {"file_path": "/p.py"}',
        "→ def parse(): pass",
    ]
    assert first.response == "It returns nothing."
    assert (first.session, first.version) == (SESSION, "2.1.12")
    assert first.at == datetime(2026, 1, 20, 11, 57, 1, 716000, UTC)
    assert (first.place.file, first.place.line) == (str(path), 2)
    assert second.prompt == "Mend it\n\n[image]"
    assert "Stop hook feedback" in second.thought
    assert second.response == "Mended."


def test_subagents_of_claude_code_have_sessions_of_their_own(tmp_path: Path) -> None:
    lines(
        tmp_path / "s.jsonl",
        message("user", "u1", 1, "Ask around"),
        message("user", "s1", 2, "You look", isSidechain=True, agentId="a7"),
        message("assistant", "a1", 3, "Asked."),
        message("assistant", "s2", 4, "Looked.", isSidechain=True, agentId="a7"),
    )
    told = {each.session: (each.prompt, each.response) for each in turns("claude-code", tmp_path)}
    assert told == {
        SESSION: ("Ask around", "Asked."),
        f"{SESSION} subagent a7": ("You look", "Looked."),
    }


def test_a_compacted_session_does_not_pass_its_summary_off_as_a_question(tmp_path: Path) -> None:
    lines(
        tmp_path / "s.jsonl",
        message("user", "u1", 1, "This session goes on from …", isCompactSummary=True),
        message("user", "u2", 2, "Go on"),
    )
    assert [each.prompt for each in turns("claude-code", tmp_path)] == ["", "Go on"]


def test_a_recap_by_claude_code_ends_the_thought_of_the_turn_before_it(tmp_path: Path) -> None:
    def recap(at: int, text: str) -> dict[str, Any]:
        return message("system", f"r{at}", at, "") | {"subtype": "away_summary", "content": text}

    lines(
        tmp_path / "s.jsonl",
        recap(1, "Nothing yet."),
        message("user", "u1", 1, "Mend it"),
        message("assistant", "a1", 2, "Mended."),
        recap(3, "We mend it."),
        recap(4, "It is mended. Next:\ndeploy. (disable recaps in /config)"),
        message("user", "u2", 5, "Deploy"),
    )
    told = [each.thought.split("\n\n")[-1] for each in turns("claude-code", tmp_path)]
    assert told == ["[recap] It is mended. Next: deploy.", ""]


def test_turns_of_one_session_never_share_an_instant(tmp_path: Path) -> None:
    lines(tmp_path / "s.jsonl", *(message("user", f"u{n}", 1, f"{n}?") for n in range(3)))
    at = [each.at for each in turns("claude-code", tmp_path)]
    assert at == sorted(set(at))


def test_long_output_of_tools_is_cut_and_says_so(tmp_path: Path) -> None:
    result = [{"type": "tool_result", "content": "x" * (LONGEST_PIECE + 7)}]
    lines(tmp_path / "s.jsonl", message("user", "u", 1, "?"), message("user", "r", 2, result))
    (turn,) = turns("claude-code", tmp_path)
    assert turn.thought.endswith("x… (7 more characters)")


def test_codex_hears_the_person_once_and_not_itself(tmp_path: Path) -> None:
    lines(tmp_path / "2025" / "rollout-x.jsonl", *codex_session())
    (turn,) = turns("codex", tmp_path)
    assert (turn.prompt, turn.response) == ("what is 2+2?", "4")
    assert turn.thought.split("\n\n") == [
        "[folder /tmp/p; model gpt-5-codex]",
        "Simple.",
        '[shell] {"a":1}',
        "→ 4",
    ]
    assert (turn.session, turn.version) == ("019a2d7a-41c4", "0.46.0")


def test_codex_wrote_bare_lines_formerly(tmp_path: Path) -> None:
    bare = [each["payload"] for each in codex_session() if each["type"] == "response_item"]
    heading = {"id": "old", "timestamp": "2025-06-01T00:00:00Z", "instructions": None}
    lines(tmp_path / "rollout-x.jsonl", heading, *bare)
    (turn,) = turns("codex", tmp_path)
    assert (turn.session, turn.prompt, turn.response) == ("old", "what is 2+2?", "4")


def as_document(folder: Path) -> None:
    lines(folder / "h" / "chats" / "session-1.json", gemini_chat())


def as_lines(folder: Path) -> None:
    told = gemini_chat()
    question, answer = gemini_messages()
    gone = {"id": "gone", "type": "user", "content": "Never mind", "timestamp": "?"}
    begun = {**answer, "content": "There"}
    told.pop("messages")
    path = folder / "h" / "chats" / "session-1.jsonl"
    lines(path, told, question, gone, {"$rewindTo": "gone"}, begun, answer, {"$set": {"x": 1}})


@pytest.mark.parametrize("write", [as_document, as_lines])
def test_a_chat_of_gemini_cli_is_read_in_both_forms(tmp_path: Path, write: Any) -> None:
    write(tmp_path)
    (turn,) = turns("gemini-cli", tmp_path)
    assert (turn.prompt, turn.response) == ("List the files", "")
    assert turn.thought.split("\n\n") == [
        "[model gemini-2.5-pro]",
        "Listing\nUse the tool.",
        "There is one file.",
        '[list_directory] {"path": "."}',
        "→ a.py",
    ]


def test_what_is_no_message_is_left_out_with_its_line(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", message("user", "u", 1, "?"), [], 7)
    with path.open("ab") as file:
        file.write(b'{"type": "user"\n\xff\xfe\n' + b"[" * 100_000 + b"\n")
        file.write(b'{"type": "user", "message": {"content": "no uuid"}}\n')
    told = found("claude-code", tmp_path)
    reasons = [(each.place.line, each.reason) for each in told if isinstance(each, UnreadPart)]
    assert reasons == [
        (2, "the line is not a JSON object"),
        (3, "the line is not a JSON object"),
        (4, "the line is not JSON in UTF-8"),
        (5, "the line is not JSON in UTF-8"),
        (6, "the line is not JSON in UTF-8"),
        (7, "the message has no uuid"),
    ]
    assert len(told) == 7


WEIRD: tuple[Any, ...] = (None, 7, [], {}, "", [None], [{}], {"role": 3, "content": {"a": 1}})


def test_messages_of_gemini_cli_that_follow_those_written_anew_are_read(tmp_path: Path) -> None:
    question, answer = gemini_messages()
    told = "<session_context>\nToday is Sunday.\n</session_context>"
    before = {"id": "m0", "type": "user", "content": [{"text": told}]}
    hooked = {**question, "content": [{"text": "<hook_context>Told</hook_context>\n\nList"}]}
    heading = {"sessionId": "s1", "messages": [before]}
    anew = {"$set": {"messages": [before, hooked]}}
    said = {**answer, "toolCalls": []}
    lines(tmp_path / "h" / "chats" / "session-1.jsonl", heading, before, anew, said)
    (tmp_path / "h" / ".project_root").write_text("/home/ana/proj")
    (turn,) = turns("gemini-cli", tmp_path)
    assert turn.folder == "/home/ana/proj"
    assert (turn.prompt, turn.response) == ("List", "There is one file.")


def test_a_turn_of_copilot_cli_has_its_tools_in_the_thought(tmp_path: Path) -> None:
    lines(tmp_path / "s1" / "events.jsonl", *copilot_session())
    first, second = turns("copilot-cli", tmp_path)
    assert first.prompt == "Why does the parser fail?"
    assert first.thought.split("\n\n") == [
        "[model fake]",
        "Look first.",
        "I look at it.",
        '[view] {"path": "/p.py"}',
        "→ error: no such file",
    ]
    assert first.response == "It is not there."
    assert (first.session, first.version, first.folder) == ("s1", "1.0.102", "/home/ana/proj")
    assert (second.prompt, second.response) == ("Mend it", "")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["claude-code", "codex", "copilot-cli", "gemini-cli", "server-memory"]
)
def test_no_value_of_another_type_ends_the_reading(name: str, tmp_path: Path) -> None:
    hostile: list[Any] = []
    sessions = (*claude_session(), *codex_session(), *copilot_session())
    for whole in (*sessions, *gemini_messages(), gemini_chat()):
        hostile += [{**whole, field: value} for field in whole for value in WEIRD]
        payload = whole.get("payload", {})
        data = whole.get("data", {})
        hostile += [{**whole, "data": {**data, field: value}} for field in data for value in WEIRD]
        hostile += [
            {**whole, "payload": {**payload, field: value}} for field in payload for value in WEIRD
        ]
    lines(tmp_path / "chats" / "rollout-x.jsonl", *hostile)
    lines(tmp_path / "x" / "events.jsonl", *hostile)
    for number, each in enumerate(hostile[::25]):
        lines(tmp_path / "chats" / f"{number}.json", each)
    assert found(name, tmp_path)
