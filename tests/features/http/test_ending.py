"""How a server ends: at once, with its work finished or undone."""

import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest

from tests.examples import parametrize_in_part
from tests.features.http.speaking import Server, call, posted, served

AT_ONCE = 20.0
"""Seconds: one, and what a very busy machine adds; what would hold it up takes longer by far."""


def ended(server: Server, ending: signal.Signals = signal.SIGTERM) -> float:
    began = time.monotonic()
    assert server.end(ending) == 0
    return time.monotonic() - began


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_connections_open(tmp_path: Path, ending: signal.Signals) -> None:
    with served(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port)) as idle:
        with httpx2.Client(base_url=server.url) as http:
            assert http.get("/healthz").status_code == 200
            assert ended(server, ending) < AT_ONCE
        idle.settimeout(60)
        assert idle.recv(1) == b""
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=60)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_clients_that_hold_streams_do_not_hold_it_up(tmp_path: Path, mode: Any) -> None:
    took: list[float] = []

    async def run(server: Server) -> None:
        async with server.client("/mcp/catalog", mode=mode) as client:
            await client.list_tools()
            if mode == "legacy":
                await anyio.sleep(0.3)
                took.append(await anyio.to_thread.run_sync(ended, server))
                return
            async with client.listen(resource_subscriptions=["memory://index"]):
                took.append(await anyio.to_thread.run_sync(ended, server))

    with served(tmp_path) as server:
        try:
            anyio.run(run, server)
        except* (httpx2.HTTPError, Exception):
            # The client finds nobody to say good-bye to.
            pass
    assert took[0] < AT_ONCE


@pytest.mark.needs("journal")
def test_a_call_that_waits_does_not_hold_it_up(tmp_path: Path) -> None:
    took: list[float] = []

    async def run(server: Server) -> None:
        asked = anyio.Event()

        async def never(context: Any, params: Any) -> types.ErrorData:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

        async with (
            server.client("/mcp/journal", mode="legacy", sampling_callback=never) as client,
            anyio.create_task_group() as group,
        ):
            said = {"prompt": "p", "thought": "t", "response": "r", "sessionId": "s"}
            await client.call_tool("add_memory", said)
            group.start_soon(client.call_tool, "summarize_sessions", {"sessionId": "s"})
            await asked.wait()
            took.append(await anyio.to_thread.run_sync(ended, server))
            group.cancel_scope.cancel()

    with served(tmp_path) as server, suppress(Exception):
        # The client finds nobody to say good-bye to.
        anyio.run(run, server)
    assert took[0] < AT_ONCE


@pytest.mark.thorough
def test_a_long_call_leaves_a_sound_store(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(150):
        (folder / f"part_{number}.py").write_text("def part():\n    return 1\n" * 60)
    home = tmp_path / "home"
    with served(home) as server, socket.create_connection(("127.0.0.1", server.port)) as busy:
        busy.sendall(posted(call("index_project", path=str(folder))))
        time.sleep(0.5)
        assert server.end() == 0
    with served(home) as server:
        assert not server.post("/mcp", call("get_status")).json()["result"]["isError"]


@parametrize_in_part("ending", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_acknowledged_is_kept_whenever_it_ends(
    tmp_path: Path, ending: signal.Signals
) -> None:
    kept: list[str] = []

    def write(server: Server, writer: int) -> None:
        for number in range(10_000):
            told = call("store_memory", content=f"fact {writer}.{number}")
            try:
                answer = server.post("/mcp", told)
            except httpx2.HTTPError:
                return
            if answer.status_code == 200:
                kept.append(answer.json()["result"]["structuredContent"]["id"])

    with served(tmp_path) as server:
        writers = [threading.Thread(target=write, args=[server, each]) for each in range(3)]
        for writer in writers:
            writer.start()
        while len(kept) < 20:
            time.sleep(0.01)
        server.process.send_signal(ending)
        server.process.wait(timeout=60)
        for writer in writers:
            writer.join(timeout=30)
    with served(tmp_path) as server:
        for id in kept:
            answer = server.post("/mcp", call("get_memory", id=id)).json()["result"]
            assert not answer["isError"]
        done = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True)
        assert done.stdout == b""
