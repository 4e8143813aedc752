"""Several servers on one database: what is written through one is found through the others."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from minutebook.app import open_app
from minutebook.config import Settings
from minutebook.domain.filters import Filter
from minutebook.domain.records import Memory
from tests import postgres_server
from tests.server.http.speaking import Server, call, served


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


@pytest.mark.slow
def test_a_server_may_be_killed_and_started_while_others_write(tmp_path: Path, url: str) -> None:
    _check_whole(tmp_path, url, servers=2, each=8)


@pytest.mark.slow
def test_the_trail_of_one_organization_holds_under_eight_writers_of_four_servers(
    tmp_path: Path, url: str
) -> None:
    _check_whole(tmp_path, url, servers=4, each=40)


def _check_whole(tmp_path: Path, url: str, *, servers: int, each: int) -> None:
    """Have two writers at each server write while another server is killed; see that all is there."""
    acknowledged: list[str] = []
    failed: list[BaseException] = []

    def write(server: Server, name: str) -> None:
        try:
            for number in range(each):
                content = f"writer{name} number{number}"
                said(server, "store_memory", content=content)
                acknowledged.append(content)
        except BaseException as error:
            failed.append(error)

    with ExitStack() as running:
        opened = [
            running.enter_context(served(tmp_path / f"{n}", MINUTEBOOK_STORE=url))
            for n in range(servers)
        ]
        with served(tmp_path / "killed", MINUTEBOOK_STORE=url) as killed:
            said(killed, "store_memory", content="before the kill")
            threads = [
                threading.Thread(target=write, args=(server, f"{n}{part}"))
                for n, server in enumerate(opened)
                for part in "ab"
            ]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        with served(tmp_path / "killed", MINUTEBOOK_STORE=url) as again:
            assert "before the kill" in found(again, "kill")
    app = open_app(Settings(home=tmp_path / "checks", store=url, embedder="none"))
    try:
        store = app.infrastructure.store
        kept = {each.content for each in store.find(Memory, Filter(organization="default"))}
        assert kept == {*acknowledged, "before the kill"}
        assert app.trail.verify("default") is None
        assert store.check() == []
    finally:
        app.close()
