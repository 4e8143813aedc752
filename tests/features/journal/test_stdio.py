"""The journal as real clients meet it: a session a connection, sampling in each revision, progress."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from minutebook.features.journal.contract import journal
from tests.features.journal.contract.journaled import check_shape
from tests.serve.contracts.requirements import requirement
from tests.serve.stdio.speaking import parameters, serving

PROMISED = {tool["name"]: tool for tool in journal().promise["tools"]}
REVISIONS = ["legacy", "2026-07-28"]
SUMMARY = {
    "title": "Mend the boiler",
    "summary": "The boiler was cold. Its pump was replaced.",
    "category": "bugfix",
    "quality": 90,
    "productivity": 80,
    "impact": 70,
    "complexity": 60,
    "technologies": ["python"],
}


def journal_server(home: Path, *contracts: str) -> StdioServerParameters:
    return parameters(home, *(contracts or ("journal",)), MINUTEBOOK_EMBEDDER="none")


async def ask(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool; its answer, which is as its schema says and the same as its text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    told: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert result.structured_content == told
    check_shape(tool, told)
    return told


async def write(client: Client, *sessions: str) -> None:
    for session in sessions:
        said = {"prompt": f"mend the boiler of {session}", "thought": "", "response": "Done."}
        await ask(client, "add_memory", **said, sessionId=session)


def model(asked: list[types.CreateMessageRequestParams], told: str = json.dumps(SUMMARY)) -> Any:
    """A client's model that notes what it is asked."""

    async def answer(context: Any, params: types.CreateMessageRequestParams) -> Any:
        asked.append(params)
        content = types.TextContent(type="text", text=told)
        return types.CreateMessageResult(role="assistant", content=content, model="test-model")

    return answer


@requirement("journal/published/stdio", "journal/results/schemas", "journal/calls/annotations")
@pytest.mark.parametrize("mode", REVISIONS)
def test_titles_annotations_and_output_schemas_are_on_the_wire(tmp_path: Path, mode: Any) -> None:
    async def listed() -> None:
        async with Client(journal_server(tmp_path), mode=mode) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}
            assert list(tools) == list(PROMISED)
            for name, told in tools.items():
                promised = PROMISED[name]
                assert told.title == promised["title"]
                assert told.description == promised["description"]
                assert told.input_schema == promised["inputSchema"]
                assert told.output_schema is not None
                assert told.output_schema["required"] == promised["outputSchema"]["required"]
                assert told.annotations is not None
                shown = told.annotations.model_dump(by_alias=True, exclude_none=True)
                assert shown == promised["annotations"]

    anyio.run(listed)


@requirement("journal/memories/generated", "journal/calls/connection-session")
@pytest.mark.parametrize("mode", REVISIONS)
def test_each_connection_has_one_session_of_its_own(tmp_path: Path, mode: Any) -> None:
    async def talk() -> None:
        said = {"prompt": "hello", "thought": "", "response": ""}
        async with (
            Client(journal_server(tmp_path), mode=mode) as one,
            Client(journal_server(tmp_path), mode=mode) as other,
        ):
            first = await ask(one, "add_memory", **said)
            second = await ask(one, "add_memory", **said, sessionId=None, model="unknown")
            third = await ask(other, "add_memory", **said)
            assert first["sessionId"] == second["sessionId"] != third["sessionId"]
            assert first["sessionId"].startswith("session_1")
            found = await ask(other, "get_session_memories", sessionId=first["sessionId"])
            assert [each["id"] for each in found["memories"]] == [first["id"], second["id"]]

    anyio.run(talk)


@requirement("journal/summarizing/sampling")
@pytest.mark.parametrize("mode", REVISIONS)
def test_the_clients_own_model_is_asked_for_summaries(tmp_path: Path, mode: Any) -> None:
    asked: list[types.CreateMessageRequestParams] = []

    async def talk() -> None:
        client = Client(journal_server(tmp_path), mode=mode, sampling_callback=model(asked))
        async with client:
            await write(client, "s1", "s2", "s3")
            done = await ask(client, "summarize_sessions")
            assert [each["title"] for each in done["sessions"]] == ["Mend the boiler"] * 3
            assert done["failed"] == []
            listed = await ask(client, "get_all_summaries")
            assert {each["quality"] for each in listed["summaries"]} == {90}
            assert (await ask(client, "summarize_sessions"))["processed"] == 0

    anyio.run(talk)
    assert len(asked) == 3
    said = [each.messages[0].content for each in asked]
    assert all(isinstance(each, types.TextContent) and "boiler" in each.text for each in said)
    assert all(each.system_prompt and each.max_tokens > 0 for each in asked)


@requirement("journal/summarizing/built-in")
@pytest.mark.parametrize("mode", REVISIONS)
def test_a_client_without_a_model_has_progress_and_the_built_in_summaries(
    tmp_path: Path, mode: Any
) -> None:
    heard: list[float] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def talk() -> None:
        async with Client(journal_server(tmp_path), mode=mode) as client:
            await write(client, "s1", "s2", "s3")
            result = await client.call_tool("summarize_sessions", {}, progress_callback=progress)
            assert result.structured_content["processed"] == 3

    anyio.run(talk)
    assert heard
    assert heard == sorted(heard)
    assert 0 < max(heard) <= 1


def test_all_contracts_that_go_together_are_served_on_one_connection(tmp_path: Path) -> None:
    async def talk() -> None:
        contracts = ("knowledge", "ledger", "journal")
        async with Client(journal_server(tmp_path, *contracts)) as client:
            await write(client, "s1")
            assert (await ask(client, "healthcheck"))["status"] == "degraded"
            stopped = await ask(client, "stop_database")
            assert stopped["status"] == "stopped"
            kept = await client.call_tool("store_memory", {"content": "x"})
            assert kept.is_error
            assert (await ask(client, "start_database"))["status"] == "started"
            kept = await client.call_tool("store_memory", {"content": "x"})
            assert not kept.is_error

    anyio.run(talk)


def test_an_error_is_text_without_structured_content(tmp_path: Path) -> None:
    with serving(tmp_path, "journal", MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake("2025-06-18")
        result = pipe.call("get_session_memories")["result"]
        assert result["isError"] is True
        assert "structuredContent" not in result
        assert result["content"] == [
            {
                "type": "text",
                "text": "Tool Error: Invalid arguments. Message: Argument `sessionId` is required.",
            }
        ]


def test_a_store_that_cannot_be_opened_is_said_in_the_contracts_form(tmp_path: Path) -> None:
    (tmp_path / "minutebook.db").write_bytes(b"this is no database" * 1000)
    with serving(tmp_path, "journal", MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake()
        result = pipe.call("get_all_summaries")["result"]
        assert result["isError"] is True
        text = result["content"][0]["text"]
        assert text.startswith("Tool Error: Database connection failed. Message: ")


def test_no_content_reaches_the_log(tmp_path: Path) -> None:
    secret = "the-content-must-not-be-logged"
    variables = {"MINUTEBOOK_EMBEDDER": "none", "MINUTEBOOK_LOG_LEVEL": "debug"}
    with serving(tmp_path, "journal", **variables) as pipe:
        pipe.handshake("2025-06-18")
        pipe.call("add_memory", prompt=secret, thought=secret, response=secret, sessionId="s1")
        pipe.call("query_raw_memories", query=secret)
        pipe.call("summarize_sessions", sessionId="s1")
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        pipe.process.wait(timeout=60)
        assert pipe.process.stderr is not None
        assert secret.encode() not in pipe.process.stderr.read()


@pytest.mark.needs("install")
def test_install_enters_the_journal_into_a_client(tmp_path: Path) -> None:
    import subprocess

    program = [sys.executable, "-m", "minutebook", "install", "cursor", "--contract", "journal"]
    done = subprocess.run(
        [*program, "--project"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Wrote" in done.stdout
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["minutebook"]
    assert entry["args"][entry["args"].index("serve") + 1] == "journal"


def test_a_database_that_cannot_be_opened_is_told_as_health(tmp_path: Path) -> None:
    (tmp_path / "minutebook.db").write_bytes(b"no database" * 1000)
    with serving(tmp_path, "journal", MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake("2025-06-18")
        refused = pipe.call("get_all_summaries")["result"]
        assert "Database connection failed" in refused["content"][0]["text"]
        health = pipe.call("healthcheck")["result"]["structuredContent"]
        assert health["status"] == "unhealthy"
        assert "not a database" in health["details"][0]
