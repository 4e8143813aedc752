"""Transcripts as the programs write them, shortened."""

import json
from pathlib import Path
from typing import Any

SESSION = "4f35e220-c435-4cf7-b9b9-f40426042847"


def lines(path: Path, *documents: Any) -> Path:
    """Write a file of one JSON value a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")
    return path


def message(kind: str, uuid: str, second: int, content: Any, **more: Any) -> dict[str, Any]:
    """A message of Claude Code."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ana/proj",
        "sessionId": SESSION,
        "version": "2.1.12",
        "gitBranch": "main",
        "type": kind,
        "message": {"role": kind, "content": content, **more.pop("message", {})},
        "uuid": uuid,
        "timestamp": f"2026-01-20T11:57:{second:02}.716Z",
        **more,
    }


def claude_session() -> list[dict[str, Any]]:
    """Two turns: the first with reasoning and a tool, the second interrupted by a hook."""
    model = {"message": {"model": "claude-opus-4-5"}}
    return [
        {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION},
        message("user", "u1", 1, "Why does the parser fail?"),
        message("assistant", "a1", 2, [{"type": "thinking", "thinking": "Look first."}], **model),
        message("assistant", "a2", 3, [{"type": "text", "text": "I look at it."}], **model),
        message(
            "assistant",
            "a3",
            4,
            [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/p.py"}}],
            **model,
        ),
        message(
            "user",
            "r1",
            5,
            [{"tool_use_id": "t1", "type": "tool_result", "content": "def parse(): pass"}],
        ),
        message("assistant", "a4", 6, [{"type": "text", "text": "It returns nothing."}], **model),
        {"type": "summary", "summary": "Parser", "leafUuid": "a4"},
        message("user", "u2", 7, [{"type": "text", "text": "Mend it"}, {"type": "image"}]),
        message("user", "m1", 8, "Stop hook feedback: run the tests", isMeta=True),
        message("assistant", "a5", 9, [{"type": "text", "text": "Mended."}], **model),
    ]


def codex_session() -> list[dict[str, Any]]:
    """One turn in envelopes, what the person said twice, as Codex writes it."""

    def event(kind: str, second: int, /, **payload: Any) -> dict[str, Any]:
        return {
            "timestamp": f"2025-10-29T00:59:{second:02}.317Z",
            "type": kind,
            "payload": payload,
        }

    def said(role: str, text: str) -> dict[str, Any]:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        return {"type": "message", "role": role, "content": [part]}

    return [
        event("session_meta", 0, id="019a2d7a-41c4", cwd="/tmp/p", cli_version="0.46.0"),
        event("response_item", 1, **said("user", "<environment_context>…</environment_context>")),
        event("response_item", 2, **said("user", "what is 2+2?")),
        event("event_msg", 2, type="user_message", message="what is 2+2?", kind="plain"),
        event("turn_context", 3, cwd="/tmp/p", model="gpt-5-codex"),
        event(
            "response_item",
            4,
            type="reasoning",
            summary=[{"type": "summary_text", "text": "Simple."}],
            encrypted_content="…",
        ),
        event("response_item", 5, type="function_call", name="shell", arguments='{"a":1}'),
        event("response_item", 6, type="function_call_output", call_id="c", output="4"),
        event("response_item", 7, **said("assistant", "4")),
        event("event_msg", 7, type="agent_message", message="4"),
    ]


def copilot_session() -> list[dict[str, Any]]:
    """Two turns of Copilot CLI: the first with a tool that failed, a subagent between, the second cut short."""

    def event(number: int, kind: str, **data: Any) -> dict[str, Any]:
        at = f"2026-11-22T18:26:{number:02}.366Z"
        return {"type": kind, "data": data, "id": f"e{number}", "timestamp": at, "parentId": None}

    tools = [{"toolCallId": "t1", "name": "view", "arguments": {"path": "/p.py"}}]
    thought = {"reasoningText": "Look first.", "toolRequests": tools, "model": "fake"}
    failed = {"toolCallId": "t1", "success": False, "error": {"message": "no such file"}}
    began = {"sessionId": "s1", "copilotVersion": "1.0.102", "context": {"cwd": "/home/ana/proj"}}
    return [
        event(1, "session.start", **began),
        event(2, "user.message", content="Why does the parser fail?", transformedContent="…"),
        event(3, "assistant.message", content="I look at it.", **thought),
        {**event(4, "user.message", content="Read the file."), "agentId": "a1"},
        event(5, "tool.execution_complete", **failed),
        event(6, "assistant.message", content="It is not there.", model="fake"),
        event(7, "user.message", content="Mend it"),
        event(8, "session.shutdown"),
    ]


def gemini_chat() -> dict[str, Any]:
    """A chat in the older form, one document."""
    return {
        "sessionId": "f86f5318-f47b-4433-85f8-ec9d9a417f8e",
        "projectHash": "79b6fa",
        "startTime": "2025-10-18T14:57:28.974Z",
        "lastUpdated": "2025-10-18T14:58:07.161Z",
        "messages": gemini_messages(),
    }


def gemini_messages() -> list[dict[str, Any]]:
    """A question, a tool, an answer."""
    return [
        {
            "id": "91ff4a35",
            "timestamp": "2025-10-18T14:57:28.974Z",
            "type": "user",
            "content": [{"text": "List the files"}],
        },
        {
            "id": "91ff4a36",
            "timestamp": "2025-10-18T14:57:30.974Z",
            "type": "gemini",
            "content": "There is one file.",
            "thoughts": [{"subject": "Listing", "description": "Use the tool."}],
            "toolCalls": [
                {
                    "id": "ls-1",
                    "name": "list_directory",
                    "args": {"path": "."},
                    "result": [{"functionResponse": {"response": {"output": "a.py"}}}],
                    "status": "success",
                }
            ],
            "model": "gemini-2.5-pro",
        },
    ]
