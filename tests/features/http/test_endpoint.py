"""MCP over HTTP as clients of each revision meet it."""

import json
from contextlib import closing
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.client import Client

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.origin import Origin
from minutebook.serve.contracts.registry import CONTRACTS
from tests.features.http.speaking import (
    BOTH,
    LEGACY,
    OWNER,
    SINGLE,
    Server,
    call,
    initialize,
    request,
)
from tests.serve.contracts.requirements import requirement

MODERN = "2026-07-28"


def data(response: httpx2.Response) -> dict[str, Any]:
    """The last message of a stream."""
    lines = [line for line in response.text.splitlines() if line.startswith("data: ")]
    told: dict[str, Any] = json.loads(lines[-1].removeprefix("data: "))
    return told


@requirement("common/http-paths")
@pytest.mark.parametrize("path", ["/mcp", *(f"/mcp/{name}" for name in CONTRACTS)])
@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_each_contract_is_spoken_at_its_path(server: Server, path: str, mode: Any) -> None:
    name = path.removeprefix("/mcp").removeprefix("/") or "knowledge"

    async def run() -> None:
        async with server.client(path, mode=mode) as client:
            listed = await client.list_tools()
            promised = CONTRACTS[name]().tools.values()
            assert [each.name for each in listed.tools] == [t.name for t in promised if t.is_listed]

    anyio.run(run)


@pytest.mark.parametrize("version", LEGACY)
def test_each_handshake_revision_is_spoken(server: Server, version: str) -> None:
    with httpx2.Client(base_url=server.url, headers=BOTH, timeout=60) as http:
        answer = http.post("/mcp", json=initialize(version))
        assert data(answer)["result"]["protocolVersion"] == version
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        noted = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert http.post("/mcp", json=noted, headers=session).status_code == 202
        told = data(http.post("/mcp", json=call("get_status"), headers=session))
        assert told["result"]["isError"] is False
        assert http.delete("/mcp", headers=session).status_code == 200
        assert http.post("/mcp", json=call("get_status"), headers=session).status_code == 404


@pytest.mark.parametrize("path", ["/mcp", "/mcp/knowledge"])
def test_a_single_post_without_a_session_is_answered_with_one_object(
    server: Server, path: str
) -> None:
    answer = server.post(path, call("store_memory", content="posted by itself"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    stored = answer.json()["result"]["structuredContent"]["id"]
    found = server.post(path, call("get_memory", id=stored)).json()
    assert found["result"]["structuredContent"]["content"] == "posted by itself"


def test_the_program_behind_a_post_is_known_by_its_user_agent_or_its_handshake(
    server: Server,
) -> None:
    def wrote(content: str) -> Origin | None:
        with closing(open_app(settings_with(home=server.home, embedder="none"))) as app:
            memories = app.memories.page(OWNER, 100, 0).memories
            return next(each.origin for each in memories if each.content == content)

    agent = {"User-Agent": "curl/8.5.0 (x86_64)"}
    stored = call("store_memory", content="sent by curl")
    assert server.post("/mcp", stored, **agent).status_code == 200
    posted = wrote("sent by curl")
    assert posted is not None
    assert (posted.program, posted.contract) == ("curl 8.5.0", "knowledge")
    with httpx2.Client(base_url=server.url, headers=BOTH | agent, timeout=60) as http:
        answer = http.post("/mcp", json=initialize())
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        http.post("/mcp", json=call("store_memory", content="with a handshake"), headers=session)
    shaken = wrote("with a handshake")
    assert shaken is not None
    assert shaken.program == "test 1"
    assert shaken.session.startswith("session_")


def test_who_takes_streams_too_but_keeps_no_session_is_answered_alike(server: Server) -> None:
    answer = server.post("/mcp", call("get_status"), Accept=BOTH["Accept"])
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["isError"] is False


def test_a_client_that_takes_no_streams_can_shake_hands_and_goes_on_without_a_session(
    server: Server,
) -> None:
    answer = server.post("/mcp", initialize())
    assert answer.json()["result"]["serverInfo"]["name"] == "memory-mcp"
    assert "mcp-session-id" not in answer.headers
    noted = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert server.post("/mcp", noted).status_code == 202
    assert "result" in server.post("/mcp", request("tools/list")).json()


@pytest.mark.needs("catalog")
def test_a_failed_call_keeps_the_form_of_its_contract(server: Server) -> None:
    answer = server.post("/mcp/catalog", call("memory-delete", id="00" * 16))
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == 404
    failed = server.post("/mcp", call("get_memory", id="0" * 20)).json()["result"]
    assert failed["isError"] is True
    assert failed["content"][0]["text"] == f"Memory not found: {'0' * 20}"


@pytest.mark.needs("code")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_a_client_is_told_how_far_a_call_is(server: Server, mode: Any) -> None:
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    folder = server.home / f"project-{mode}"
    folder.mkdir()
    for number in range(30):
        (folder / f"part_{number}.py").write_text(f"def part_{number}():\n    return {number}\n")

    async def run() -> None:
        async with server.client(mode=mode) as client:
            done = await client.call_tool(
                "index_project", {"path": str(folder)}, progress_callback=hear
            )
            assert not done.is_error

    anyio.run(run)
    assert told
    assert told == sorted(told)


@requirement("catalog/resources/subscribe")
@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
@pytest.mark.needs("catalog")
def test_a_session_hears_when_what_it_subscribed_to_changes(server: Server) -> None:
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async def run() -> None:
        async with server.client("/mcp/catalog", mode="legacy", message_handler=hear) as client:
            await client.subscribe_resource("memory://index")
            with anyio.fail_after(60):
                while not any(isinstance(m, types.ResourceUpdatedNotification) for m in heard):
                    await write(client)
                    await anyio.sleep(0.2)

    anyio.run(run)


@requirement("catalog/resources/subscribe")
@pytest.mark.needs("catalog")
def test_a_stream_that_listens_hears_it_too(server: Server) -> None:
    async def run() -> None:
        async with (
            server.client("/mcp/catalog", mode=MODERN) as client,
            client.listen(resource_subscriptions=["memory://index"]) as events,
        ):
            await write(client)
            with anyio.fail_after(60):
                async for event in events:
                    assert "memory://index" in str(event)
                    break

    anyio.run(run)


async def write(client: Client) -> None:
    await client.call_tool(
        "memory-write",
        {
            "organization": "acme",
            "scope_type": "organization",
            "memory_type": "fact",
            "current_content": "It changed.",
            "title": "A change",
        },
    )


@pytest.mark.needs("catalog")
def test_safe_spelling_is_taken_over_http_too(server: Server) -> None:
    answer = server.post("/mcp/catalog", call("memory_search", query="changed"))
    assert "result" in answer.json()


def test_a_page_that_is_not_there_is_refused_by_name(server: Server) -> None:
    answer = server.post("/mcp/diary", call("get_status"))
    assert answer.status_code == 404
    assert "/mcp/diary" in answer.json()["error"]["message"]
    assert SINGLE["Accept"] == answer.headers["content-type"]
