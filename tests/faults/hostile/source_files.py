"""The items of the set in the files of each program that can be imported."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from tests.faults.hostile.items import Item
from tests.features.importers.sources import test_databases as forms
from tests.features.importers.sources.test_chat_export import node
from tests.features.importers.sources.test_mcp_memory_service import with_rows
from tests.features.importers.sources.transcripts import lines, message

Write = Callable[[Path, Sequence[Item]], None]


def _claude_code(folder: Path, items: Sequence[Item]) -> None:
    for each in items:
        id = f"session-{each.word}"
        said = [
            message("user", f"u{each.word}", 1, each.text, sessionId=id),
            message("assistant", f"a{each.word}", 2, [{"type": "text", "text": each.text}], sessionId=id),
        ]  # fmt: skip
        lines(folder / "proj" / f"{id}.jsonl", *said)


def _codex(folder: Path, items: Sequence[Item]) -> None:
    for each in items:

        def event(kind: str, second: int, /, **payload: Any) -> dict[str, Any]:
            at = f"2025-10-29T00:59:{second:02}.317Z"
            return {"timestamp": at, "type": kind, "payload": payload}

        part = [{"type": "output_text", "text": each.text}]
        lines(
            folder / f"rollout-{each.word}.jsonl",
            event("session_meta", 0, id=each.word, cwd=each.bare[:50], cli_version="0.46.0"),
            event("event_msg", 2, type="user_message", message=each.text, kind="plain"),
            event("response_item", 7, type="message", role="assistant", content=part),
        )


def _copilot(folder: Path, items: Sequence[Item]) -> None:
    for each in items:
        told = {
            "session.start": {"sessionId": each.word, "context": {"cwd": each.bare[:50]}},
            "user.message": {"content": each.text},
            "assistant.message": {"content": each.text, "model": each.bare[:50]},
        }
        events = [
            {"type": kind, "data": data, "id": f"{kind} {each.word}", "timestamp": "2026-11-22T18:26:01.366Z"}
            for kind, data in told.items()
        ]  # fmt: skip
        lines(folder / each.word / "events.jsonl", *events)


def _gemini(folder: Path, items: Sequence[Item]) -> None:
    for each in items:
        chat = {
            "sessionId": each.word,
            "startTime": "2025-10-18T14:57:28.974Z",
            "messages": [
                {"id": f"u{each.word}", "timestamp": "2025-10-18T14:57:28.974Z", "type": "user", "content": [{"text": each.text}]},
                {"id": f"a{each.word}", "timestamp": "2025-10-18T14:57:30.974Z", "type": "gemini", "content": each.text},
            ],
        }  # fmt: skip
        (folder / "p" / "chats").mkdir(parents=True, exist_ok=True)
        (folder / "p" / "chats" / f"session-{each.word}.json").write_text(json.dumps(chat))


def _chats(folder: Path, items: Sequence[Item]) -> None:
    chats = [
        {
            "id": f"chat-{each.word}",
            "title": each.text,
            "create_time": 1699564800.0,
            "current_node": f"a{each.word}",
            "mapping": {
                "root": {"id": "root", "message": None, "parent": None, "children": []},
                f"u{each.word}": node(f"u{each.word}", "root", "user", each.text),
                f"a{each.word}": node(f"a{each.word}", f"u{each.word}", "assistant", each.text),
            },
        }
        for each in items
    ]
    (folder / "conversations.json").write_text(json.dumps(chats))


def _server_memory(folder: Path, items: Sequence[Item]) -> None:
    told: list[dict[str, Any]] = []
    for each in items:
        told += [
            {"type": "entity", "name": each.text, "entityType": each.text, "observations": [each.text]},
            {"type": "relation", "from": each.text, "to": each.text, "relationType": each.text},
        ]  # fmt: skip
    lines(folder / "memory.json", *told)


def _markdown(folder: Path, items: Sequence[Item]) -> None:
    for each in items:
        if each.carries:
            (folder / f"{each.word}.md").write_text(f"# Note\n\n{each.text}\n", "utf-8")


def _doobidoo(folder: Path, items: Sequence[Item]) -> None:
    with_rows(
        folder / "a.db",
        *(
            (each.word, each.text, "" if each.secrets else each.bare[:50], each.bare[:50], json.dumps({"note": each.text}), 1e9, 1e9, None)
            for each in items
            if each.carries
        ),
    )  # fmt: skip


def _instructions(folder: Path, items: Sequence[Item]) -> None:
    for each in items:
        if each.carries:
            (folder / each.word).mkdir()
            (folder / each.word / "CLAUDE.md").write_text(f"# Rules\n\n- {each.text}\n", "utf-8")


def _claude_code_memory(folder: Path, items: Sequence[Item]) -> None:
    (folder / "proj" / "memory").mkdir(parents=True, exist_ok=True)
    for each in items:
        if each.carries:
            head = json.dumps(
                {"name": each.word, "description": each.text, "metadata": {"type": each.text}}
            )
            text = f"---\n{head}\n---\n\n{each.text}\n"
            (folder / "proj" / "memory" / f"{each.word}.md").write_text(text, "utf-8")


def _adr(folder: Path, items: Sequence[Item]) -> None:
    for number, each in enumerate(items, 1):
        if each.carries:
            text = f"---\nstatus: accepted\ndate: 2026-01-01\n---\n\n# Use {each.word}\n\n## Context and Problem Statement\n\n{each.text}\n\n## Decision Outcome\n\nSo be it.\n"
            (folder / f"{number:04}-use-it.md").write_text(text, "utf-8")


def _claude_mem(folder: Path, items: Sequence[Item]) -> None:
    with closing(apsw.Connection(str(folder / "claude-mem.db"))) as connection:
        connection.execute(forms.CLAUDE_MEM)
        for number, each in enumerate(items, 100):
            if each.carries:
                connection.execute(
                    "INSERT INTO observations VALUES (?, 'm', ?, NULL, 'decision', ?, ?, NULL, ?, NULL, NULL, NULL, 1767323045000)",
                    (number, each.bare[:50], each.text, each.text, each.text),
                )


def _mem0(folder: Path, items: Sequence[Item]) -> None:
    results = [
        {"id": each.word, "memory": each.text, "metadata": {"note": each.text, each.bare[:50]: 1}, "created_at": "2025-06-01T10:00:00-07:00"}
        for each in items
    ]  # fmt: skip
    relations = [
        {"source": e.text, "relationship": e.text, "target": f"to {e.text}"} for e in items
    ]
    (folder / "all.json").write_text(json.dumps({"results": results, "relations": relations}))


SOURCE_FILES: Mapping[str, Write] = {
    "claude-code": _claude_code,
    "claude-code-memory": _claude_code_memory,
    "codex": _codex,
    "copilot-cli": _copilot,
    "gemini-cli": _gemini,
    "chat-export": _chats,
    "server-memory": _server_memory,
    "markdown": _markdown,
    "mcp-memory-service": _doobidoo,
    "instructions": _instructions,
    "adr": _adr,
    "claude-mem": _claude_mem,
    "mem0": _mem0,
}
