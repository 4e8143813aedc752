"""Clients of 2024-11-05, which open a stream and post beside it."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import ClientSession
from mcp.client.sse import sse_client

from tests.features.http.speaking import (
    PLAIN,
    Server,
    call,
    initialize,
    request,
    served,
    token,
    writing,
)

JSON = {"Content-Type": "application/json"}


@asynccontextmanager
async def opened(server: Server, path: str, **headers: str) -> AsyncIterator[ClientSession]:
    """The official client, as it speaks to servers of that revision."""
    async with (
        sse_client(server.url + path, headers=headers) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


@pytest.mark.parametrize(
    ("path", "tool"),
    [
        ("/sse", "get_status"),
        pytest.param("/sse/journal", "healthcheck", marks=pytest.mark.needs("journal")),
        ("/sse/knowledge", "get_status"),
    ],
)
def test_a_client_with_a_stream_lists_and_calls(server: Server, path: str, tool: str) -> None:
    async def speak() -> None:
        async with opened(server, path) as session:
            tools = [each.name for each in (await session.list_tools()).tools]
            assert tool in tools
            answer = await session.call_tool(tool, {})
            assert not answer.is_error
            assert answer.structured_content

    anyio.run(speak)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    with served(tmp_path) as one:
        yield one


class Posting:
    """A stream that is read by hand, and where to post."""

    def __init__(self, lines: Iterator[str], url: str) -> None:
        self._lines = lines
        self.url = url

    def heard(self) -> dict[str, Any]:
        told = next(line for line in self._lines if line.startswith("data: {"))
        message: dict[str, Any] = json.loads(told.removeprefix("data: "))
        return message


def posting(server: Server, response: httpx2.Response) -> Posting:
    lines = response.iter_lines()
    place = next(line for line in lines if line.startswith("data: "))
    return Posting(lines, server.url + place.removeprefix("data: "))


def test_what_is_posted_is_held_to_the_same_bounds(server: Server) -> None:
    with httpx2.stream("GET", f"{server.url}/sse", **PLAIN) as response:
        one = posting(server, response)
        assert httpx2.post(one.url, content=b"[]", headers=JSON, **PLAIN).status_code == 400
        assert httpx2.post(one.url, content=b"{}", headers={}, **PLAIN).status_code == 415
        assert httpx2.post(one.url + "0", json=request("ping"), **PLAIN).status_code in (400, 404)
        assert httpx2.post(one.url, json=request("ping", 5), **PLAIN).status_code == 202
        assert one.heard()["id"] == 5


def test_another_token_cannot_post_into_a_stream(guarded: Server) -> None:
    mine, theirs = (
        {"Authorization": f"Bearer {token(guarded.home, name).secret}"} for name in ("ana", "bob")
    )
    assert httpx2.get(f"{guarded.url}/sse", **PLAIN).status_code == 401
    with httpx2.stream("GET", f"{guarded.url}/sse", headers=mine, **PLAIN) as response:
        one = posting(guarded, response)
        assert (
            httpx2.post(one.url, json=request("ping"), headers=theirs, **PLAIN).status_code == 404
        )
        assert httpx2.post(one.url, json=request("ping"), **PLAIN).status_code == 401
        assert (
            httpx2.post(one.url, json=request("ping", 7), headers=mine, **PLAIN).status_code == 202
        )
        assert one.heard()["id"] == 7


def test_calls_beyond_what_is_taken_on_are_answered_with_an_error(tmp_path: Path) -> None:
    with (
        served(tmp_path, MINUTEBOOK_HTTP_CALLS="1") as server,
        httpx2.stream("GET", f"{server.url}/sse", verify=False, timeout=60) as response,
    ):
        one = posting(server, response)
        shake = initialize("2024-11-05")
        for message in (shake, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
            assert httpx2.post(one.url, json=message, **PLAIN).status_code == 202
        assert one.heard()["id"] == shake["id"]
        assert server.post("/mcp", call("get_status")).status_code == 200
        with writing(server.home):
            long = {**call("store_memory", content="Tea at five."), "id": "long"}
            more = {**call("get_status"), "id": "more"}
            for message in (long, more):
                assert httpx2.post(one.url, json=message, **PLAIN).status_code == 202
            refused = one.heard()
            assert refused["id"] == "more"
            assert "as many calls" in refused["error"]["message"]
        assert one.heard()["id"] == "long"
        assert (
            httpx2.post(one.url, json={**call("get_status"), "id": "then"}, **PLAIN).status_code
            == 202
        )
        assert "result" in one.heard()


@pytest.mark.thorough
def test_no_line_of_the_log_holds_what_was_posted_at_any_level(tmp_path: Path) -> None:
    with (
        served(tmp_path, MINUTEBOOK_LOG_LEVEL="debug") as server,
        httpx2.stream("GET", f"{server.url}/sse", **PLAIN) as response,
    ):
        one = posting(server, response)
        httpx2.post(one.url, json=initialize("2024-11-05"), **PLAIN)
        httpx2.post(one.url, json=call("store_memory", content="the vault opens at nine"), **PLAIN)
        assert one.heard()["id"] == one.heard()["id"] == 1
        assert server.said
        assert not any("vault" in line for line in server.said)
