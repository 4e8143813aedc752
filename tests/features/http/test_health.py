"""How a server is: alive, ready, in figures and in its log."""

import re
import resource
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient

from minutebook.features.http.telemetry import health
from minutebook.record.errors import StoreError
from minutebook.serve.app_loader import AppLoader
from tests.features.http.speaking import Server, call, served
from tests.serve.contracts.requirements import requirement
from tests.world import World, wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("served")
    with served(home, MINUTEBOOK_LOG_LEVEL="info") as one:
        yield one


def figures(server: Server) -> dict[tuple[str, ...], float]:
    """Each figure by its name and the values of its labels, in the order of their names."""
    text = server.get("/metrics").text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def line_of(server: Server, request: str) -> str:
    """The line of the log about one request."""
    while True:
        for line in list(server.said):
            if "access_log" in line and line.endswith(f" [{request}]\n"):
                return line
        time.sleep(0.01)


def test_it_is_ready_once_the_store_is_open_and_the_model_settled(server: Server) -> None:
    while server.get("/readyz").status_code != 200:
        time.sleep(0.02)
    told = server.get("/readyz").json()
    assert told == {"status": "ready", "store": "open", "model": "error"}


def test_it_is_alive_and_not_ready_with_a_store_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "minutebook.db").write_bytes(b"this is no database" * 100)
    with served(tmp_path) as server:
        assert server.get("/healthz").status_code == 200
        assert server.get("/readyz").status_code == 503
        answer = server.post("/mcp", call("get_status"))
        assert answer.status_code == 503
        assert "the log of the server tells why" in answer.json()["error"]["message"]
        assert "minutebook.db" not in answer.text
        assert any("minutebook.db" in line for line in server.said)
        told = server.get("/readyz").json()
        assert told == {"status": "starting", "store": "failed", "model": "loading"}


def test_it_is_not_ready_while_the_database_cannot_be_reached(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = cast("AppLoader", SimpleNamespace(find=lambda: world.app))
    client = TestClient(Starlette(routes=health.health_routes(loader)))
    assert client.get("/readyz").json()["store"] == "open"

    def fail() -> NoReturn:
        raise StoreError("db.example.org: the server cannot be reached")

    with monkeypatch.context() as patched:
        patched.setattr(world.store.database, "check_answers", fail)
        told = client.get("/readyz")
        assert (told.status_code, told.json()["status"]) == (503, "waiting")
        assert told.json()["store"] == "unreachable"
        assert "example.org" not in told.text
        assert client.get("/healthz").status_code == 200
    world.store.close()
    assert client.get("/readyz").json()["store"] == "open"


@pytest.mark.skipif(sys.platform != "linux", reason="another process's limits are set")
def test_it_is_not_ready_while_no_write_can_succeed(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        wait_until(lambda: server.get("/readyz").status_code == 200)
        before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        # As on a full disk: what is there can be read, and no file grows.
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        assert server.post("/mcp", call("store_memory", content="x")).json()["result"]["isError"]
        wait_until(lambda: server.get("/readyz").status_code == 503)
        told = server.get("/readyz")
        assert told.json()["status"] == "waiting"
        assert told.json()["store"] == "unwritable"
        assert str(tmp_path) not in told.text
        assert server.get("/healthz").status_code == 200
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
        wait_until(lambda: server.get("/readyz").status_code == 200)
        assert not server.post("/mcp", call("store_memory", content="y")).json()["result"][
            "isError"
        ]


def test_asking_often_writes_seldom_and_changes_no_record(world: World) -> None:
    world.remember("Tea at five")
    before, sequence = world.store.database.writes.count, world.store.sequence("default")
    assert {world.app.database.state() for _ in range(50)} == {"open"}
    assert world.store.database.writes.count <= before + 2
    assert world.store.sequence("default") == sequence
    assert world.store.upkeep.check() == []


def test_who_waits_for_another_writer_is_ready(world: World) -> None:
    done = threading.Event()

    def long_write() -> None:
        with world.store.transaction("default"):
            started.set()
            done.wait(30)

    started, writer = threading.Event(), threading.Thread(target=long_write)
    writer.start()
    try:
        assert started.wait(30)
        assert world.app.database.state() == "open"
    finally:
        done.set()
        writer.join()


@requirement("journal/considered/metrics")
@pytest.mark.needs("catalog")
def test_figures_count_and_time_what_was_asked_for(server: Server) -> None:
    before = figures(server)
    for _ in range(3):
        server.post("/mcp", call("store_memory", content="counted"))
    server.post("/mcp", call("get_memory", id="0" * 20))
    server.post("/mcp/catalog", call("memory-delete", id="00" * 16))
    server.post("/mcp", b"no message")
    after = figures(server)

    def more(*name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)

    stored = "knowledge", "store_memory"
    assert more("minutebook_operation_seconds_count", *stored) == 3
    assert 0 < more("minutebook_operation_seconds_sum", *stored) < 60
    assert more("minutebook_errors_total", "tool", "knowledge", "get_memory") == 1
    assert more("minutebook_errors_total", "404", "catalog", "memory-delete") == 1
    assert more("minutebook_http_responses_total", "400") == 1
    assert more("minutebook_http_responses_total", "200") >= 5
    assert more("minutebook_engine_writes_total") >= 3
    assert more("minutebook_engine_write_seconds_total") > 0
    assert after[("minutebook_engine_bytes",)] > 0
    assert after[("minutebook_model_queue",)] == 0
    assert after[("minutebook_model_ready",)] == 0


@requirement("journal/considered/metrics")
@pytest.mark.needs("journal")
def test_figures_tell_how_many_records_there_are_and_how_summarising_went(server: Server) -> None:
    before = figures(server)
    turn = {"prompt": "hello", "thought": "", "response": "", "sessionId": "counted"}
    server.post("/mcp/journal", call("add_memory", **turn))
    server.post("/mcp/journal", call("summarize_sessions", sessionId="counted"))
    server.post("/mcp/journal", call("summarize_sessions", sessionId="unknown"))
    after = figures(server)
    made = "minutebook_summaries_total", "built-in extractive summarizer"
    assert after[made] - before.get(made, 0.0) == 1
    assert after[("minutebook_summaries_failed_total",)] == 0
    assert after[("minutebook_summary_models_unanswered_total",)] == 0
    for kind in ("turn", "summary"):
        records = "minutebook_records", kind
        assert after[records] - before[records] == 1


def test_a_name_that_no_contract_offers_makes_no_figure(server: Server) -> None:
    server.post("/mcp", call("invented_by_a_client"))
    assert not any("invented_by_a_client" in name for name in figures(server))


def test_a_line_of_the_log_tells_of_a_request_and_of_nothing_in_it(server: Server) -> None:
    server.post("/mcp?content=hidden", call("get_status"), X_Request_Id="of-mine.1")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO minutebook\.features\.http\.telemetry\.access_log: "
        r"POST /mcp: 200 in \d+\.\d+ s for agent \[of-mine\.1\]\n",
        line_of(server, "of-mine.1"),
    )


def test_a_path_makes_no_lines_of_its_own_in_the_log(server: Server) -> None:
    server.get("/none%0aERROR%20forged", X_Request_Id="forger")
    assert " GET /none%0aERROR%20forged: " in line_of(server, "forger")
    server.get("/" + "x" * 5000, X_Request_Id="long")
    assert line_of(server, "long").count("x") == 199


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "{}", '"'])
def test_an_id_that_does_not_fit_into_a_log_is_replaced(server: Server, given: str) -> None:
    answer = server.get("/healthz", X_Request_Id=given)
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])


def test_the_id_of_a_request_is_on_the_trail(server: Server) -> None:
    told = call("store_memory", content="with an id")
    server.post("/mcp", {**told, "id": 7}, X_Request_Id="on-the-trail")
    kept = (server.home / "minutebook.db").read_bytes()
    log = server.home / "minutebook.db-wal"
    assert b"on-the-trail-7" in kept + (log.read_bytes() if log.exists() else b"")
