"""Several servers on one database: what is written through one is found through the others."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from tests.features.http.speaking import BOTH, Server, call, initialize, served
from tests.features.postgres import server as postgres_server
from tests.world import wait_until


@pytest.fixture
def url() -> Iterator[str]:
    name = f"several_{uuid4().hex}"
    postgres_server.server().make_store(name)
    yield postgres_server.server().url(name)
    postgres_server.server().drop(name)


def said(server: Server, tool: str, **arguments: Any) -> Any:
    """Call a tool that must answer; what it answers."""
    answer = server.post("/mcp", call(tool, **arguments)).json()
    assert not answer["result"].get("isError"), answer
    return answer["result"]["structuredContent"]


def found(server: Server, query: str) -> list[str]:
    results = said(server, "recall", query=query)["results"]
    return [each["content"] for each in results]


@pytest.mark.thorough
def test_what_is_written_through_one_is_found_through_the_other_at_once(
    tmp_path: Path, url: str
) -> None:
    with (
        served(tmp_path / "one", MINUTEBOOK_STORE=url) as one,
        served(tmp_path / "other", MINUTEBOOK_STORE=url) as other,
    ):
        for number, (writer, reader) in enumerate([(one, other), (other, one)] * 5):
            content = f"bakery{number} opens at seven"
            said(writer, "store_memory", content=content)
            assert content in found(reader, f"bakery{number}")
        assert url not in "".join([*one.said, *other.said])


@pytest.mark.thorough
def test_a_session_is_known_to_the_server_that_opened_it_and_begun_anew_at_another(
    tmp_path: Path, url: str
) -> None:
    with (
        served(tmp_path / "one", MINUTEBOOK_STORE=url) as one,
        served(tmp_path / "other", MINUTEBOOK_STORE=url) as other,
    ):
        known = {"Mcp_Session_Id": _opened_session(one), "Accept": BOTH["Accept"]}
        assert one.post("/mcp", call("get_status"), **known).status_code == 200
        for answer in (
            other.post("/mcp", call("get_status"), **known),
            other.get("/mcp", Mcp_Session_Id=known["Mcp_Session_Id"], Accept="text/event-stream"),
        ):
            assert answer.status_code == 404
        # The refusal ended nothing where the session is.
        assert one.post("/mcp", call("get_status"), **known).status_code == 200
        anew = {"Mcp_Session_Id": _opened_session(other), "Accept": BOTH["Accept"]}
        assert other.post("/mcp", call("get_status"), **anew).status_code == 200


def _opened_session(server: Server) -> str:
    answer = server.post("/mcp", initialize(), Accept=BOTH["Accept"])
    assert answer.status_code == 200
    return answer.headers["Mcp-Session-Id"]


@pytest.mark.thorough
def test_a_killed_server_breaks_no_trail_and_loses_nothing_acknowledged(
    tmp_path: Path, url: str
) -> None:
    _check_whole(tmp_path, url, servers=2, each=5, kills=1)


@pytest.mark.slow
def test_the_trail_holds_under_eight_writers_of_four_servers_that_are_killed_at_will(
    tmp_path: Path, url: str
) -> None:
    _check_whole(tmp_path, url, servers=4, each=40, kills=6)


class Writers:
    """Two threads for each of some servers, which write until each has written so many memories."""

    def __init__(self, servers: list[Server], each: int) -> None:
        self.servers = servers
        self.acknowledged: list[str] = []
        self.unknown: list[str] = []
        """What a killed server was asked to write: it may be there, or not."""
        self._each = each
        self._pool = ThreadPoolExecutor(2 * len(servers))
        self.running = [
            self._pool.submit(self._write, number, part)
            for number in range(len(servers))
            for part in "ab"
        ]

    def _write(self, number: int, part: str) -> None:
        for count in range(self._each):
            content = f"writer{number}{part} number{count}"
            server = self.servers[number]
            try:
                said(server, "store_memory", content=content)
                self.acknowledged.append(content)
            except httpx2.TransportError:
                self.unknown.append(content)
                wait_until(partial(self._is_replaced, number, server))

    def _is_replaced(self, number: int, server: Server) -> bool:
        return self.servers[number] is not server

    def goes_on(self, written: int) -> bool:
        """Tell whether something was written since, or nothing is left to be written."""
        return len(self.acknowledged) > written or all(each.done() for each in self.running)

    def end(self) -> None:
        """Wait for all of them, and raise what any raised."""
        for each in self.running:
            each.result()
        self._pool.shutdown()


def _check_whole(tmp_path: Path, url: str, *, servers: int, each: int, kills: int) -> None:
    """Write through some servers, killed and started again, and read through one more; see that all is there."""
    with ExitStack() as running:

        def started(name: str) -> Server:
            return running.enter_context(served(tmp_path / name, MINUTEBOOK_STORE=url))

        reader = started("reader")
        writers = Writers([started(f"{number}") for number in range(servers)], each)
        for kill in range(kills):
            wait_until(partial(writers.goes_on, len(writers.acknowledged)))
            found(reader, "number1")
            number = kill % servers
            writers.servers[number].end(signal.SIGKILL)
            writers.servers[number] = started(f"{number}")
        while not all(one.done() for one in writers.running):
            found(reader, "number1")
        writers.end()
        assert len(writers.unknown) <= 2 * kills
        last = writers.acknowledged[-1]
        assert last in found(reader, last)
    app = open_app(settings_with(home=tmp_path / "checks", store=url, embedder="none"))
    try:
        store = app.infrastructure.store
        kept = {one.content for one in store.find(Memory, Filter(organization="default"))}
        assert {*writers.acknowledged} <= kept <= {*writers.acknowledged, *writers.unknown}
        assert app.trail.verify("default") is None
        assert store.upkeep.check() == []
    finally:
        app.close()
