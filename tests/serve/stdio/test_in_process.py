"""The server as a client meets it: a process, two pipes, and nothing else."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from minutebook.serve.contracts.knowledge import knowledge
from tests.line_client import INITIALIZED
from tests.serve.contracts.requirements import requirement
from tests.serve.stdio.speaking import INITIALIZE, called, command, parameters, serving


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
@requirement("knowledge/server/protocol", "knowledge/server/info")
def test_each_handshake_revision_is_spoken(tmp_path: Path, version: str) -> None:
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
        answer = pipe.handshake(version)["result"]
        assert answer["protocolVersion"] == version
        assert answer["serverInfo"]["name"] == "memory-mcp"
        assert answer["serverInfo"]["version"] == "0.1.0"
        assert "tools" in answer["capabilities"]
        published = knowledge().promise["info"]["instructions"]
        assert "21 tools available. Recall" in published
        assert answer["instructions"].startswith(published)


@requirement("common/results/text-and-structured")
def test_a_result_is_sent_as_text_and_as_structured_content(tmp_path: Path) -> None:
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake("2025-06-18")
        result = pipe.call("get_status")["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert not result["isError"]


@requirement("knowledge/errors/form")
def test_a_failed_call_is_a_result_that_the_model_can_read(tmp_path: Path) -> None:
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake()
        result = pipe.call("get_memory", id="00000000000000000000")["result"]
        assert result["isError"] is True
        assert result["content"] == [
            {"type": "text", "text": "Memory not found: 00000000000000000000"}
        ]


@pytest.mark.needs("models")
def test_what_the_promised_shape_has_no_room_for_is_said_beside_the_result(tmp_path: Path) -> None:
    with serving(tmp_path, MINUTEBOOK_EMBEDDER=str(tmp_path / "none")) as pipe:
        pipe.handshake("2025-06-18")
        pipe.call("store_memory", content="the boiler hums")
        result = pipe.call("recall", query="boiler")["result"]
        whole, note = (each["text"] for each in result["content"])
        assert json.loads(whole) == result["structuredContent"]
        assert note.startswith("Found by words alone: the embedding model cannot be used")
        assert result["_meta"]["minutebook/meaning"] == {"state": "error"}
        (shown,) = result["_meta"]["minutebook/provenance"]["records"]
        assert (shown["author"], shown["contract"]) == ("agent", "knowledge")
        assert list(pipe.call("list_memories")["result"]["_meta"]) == ["minutebook/provenance"]


def test_an_unknown_tool_is_a_protocol_error_that_names_it(tmp_path: Path) -> None:
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake()
        error = pipe.call("forget_everything")["error"]
        assert error["code"] == -32602
        assert "forget_everything" in error["message"]


@requirement("common/stdout-protocol-only")
def test_whatever_happens_stdout_has_messages_of_the_protocol_only(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("print('tea')\n")
    happenings = [
        INITIALIZE,
        INITIALIZED,
        b"this is no JSON \xff\xfe",
        {"jsonrpc": "2.0"},
        called(1, "store_memory", content="print('tea')\n"),
        called(2, "store_memory"),
        called(3, "no_such_tool"),
        called(4, "index_project", path=str(tmp_path / "code")),
        called(5, "index_project", path="/no/such/folder"),
        called(6, "search", query="tea"),
        called(7, "get_status"),
    ]
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in happenings]
    # A model that cannot be had makes a warning, and at debug level everything is logged.
    trouble = {"MINUTEBOOK_EMBEDDER": str(tmp_path / "none"), "MINUTEBOOK_LOG_LEVEL": "debug"}
    done = subprocess.run(
        command(tmp_path / "home"),
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        timeout=60,
        env={**os.environ, **trouble},
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["jsonrpc"] for each in answers} == {"2.0"}
    assert {each["id"] for each in answers} >= {0, *range(1, 8)}
    assert b"DEBUG" in done.stderr
    assert b"store_memory" in done.stderr


def test_what_was_asked_before_stdin_closed_is_answered(tmp_path: Path) -> None:
    call = called(7, "store_memory", content="asked in a pipe")
    lines = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, INITIALIZED, call))
    done = subprocess.run(
        command(tmp_path),
        input=lines.encode(),
        capture_output=True,
        timeout=60,
        env={**os.environ, "MINUTEBOOK_EMBEDDER": "none"},
    )
    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert "result" in answers[7]
    assert done.returncode == 0


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, None])
def test_a_signal_or_a_closed_stdin_ends_the_server_cleanly(
    tmp_path: Path, ending: signal.Signals | None
) -> None:
    with serving(tmp_path) as pipe:
        pipe.handshake()
        pipe.call("get_status")
        if ending is None:
            assert pipe.process.stdin is not None
            pipe.process.stdin.close()
        else:
            pipe.process.send_signal(ending)
        assert pipe.process.wait(timeout=60) == 0
        assert pipe.process.stdout is not None
        assert pipe.process.stdout.read() == b""


def test_an_acknowledged_write_survives_a_kill(tmp_path: Path) -> None:
    stored = []
    for round_ in range(3):
        with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
            pipe.handshake("2025-06-18")
            for number in range(5):
                answer = pipe.call("store_memory", content=f"fact {round_}.{number}")
                stored.append(answer["result"]["structuredContent"]["id"])
            pipe.process.kill()
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake("2025-06-18")
        kept = pipe.call("list_memories", limit=100)["result"]["structuredContent"]
        assert kept["total"] == len(stored)
        assert {each["id"]["id"]["String"] for each in kept["memories"]} == set(stored)


@pytest.mark.thorough
def test_what_one_server_stores_another_finds_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as other:
        one.handshake("2025-06-18")
        other.handshake("2025-06-18")
        other.call("search", query="warm up")
        id = one.call("store_memory", content="The kettle is in the attic.")["result"][
            "structuredContent"
        ]["id"]
        for tool in ("search", "search_text", "recall"):
            found = other.call(tool, query="kettle")["result"]["structuredContent"]["results"]
            assert [each["id"] for each in found] == [id]


def test_a_store_that_cannot_be_opened_is_said_in_each_answer(tmp_path: Path) -> None:
    (tmp_path / "minutebook.db").write_bytes(b"this is no database" * 1000)
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake()
        result = pipe.call("list_memories")["result"]
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith("Database error. Please try again.")


def test_no_content_reaches_the_log(tmp_path: Path) -> None:
    secret = "the-content-must-not-be-logged"
    with serving(tmp_path, MINUTEBOOK_EMBEDDER="none", MINUTEBOOK_LOG_LEVEL="debug") as pipe:
        pipe.handshake()
        pipe.call("store_memory", content=secret)
        pipe.call("search_text", query=secret)
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        pipe.process.wait(timeout=60)
        assert pipe.process.stderr is not None
        assert secret.encode() not in pipe.process.stderr.read()


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_lists_and_calls(tmp_path: Path, mode: Any) -> None:
    async def talk() -> None:
        server = parameters(tmp_path, MINUTEBOOK_EMBEDDER="none")
        async with Client(server, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert len(tools) == len(knowledge().listed)
            hints = {tool.name: tool.annotations for tool in tools}
            recall, reset = hints["recall"], hints["reset_all_memory"]
            assert recall is not None
            assert recall.read_only_hint is True
            assert reset is not None
            assert reset.destructive_hint is True
            stored = await client.call_tool("store_memory", {"content": "hello"})
            assert not stored.is_error
            found = await client.call_tool("search_text", {"query": "hello"})
            assert found.structured_content["count"] == 1

    anyio.run(talk)


@pytest.mark.needs("models")
def test_initialize_does_not_wait_for_the_model(tmp_path: Path) -> None:
    with serving(tmp_path) as pipe:
        pipe.handshake("2025-06-18")
        assert pipe.call("get_status")["result"]["structuredContent"]["embedding"]["status"] in {
            "loading",
            "ready",
        }
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            status = pipe.call("get_status")["result"]["structuredContent"]
            if status["embedding"]["status"] == "ready":
                break
            time.sleep(0.1)
        assert status["embedding"]["status"] == "ready"
