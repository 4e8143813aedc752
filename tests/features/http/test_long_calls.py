"""Long calls over HTTP: each has a budget, and ends when its caller leaves."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.ask.table import operations
from minutebook.features.citations.operations import citing_texts
from minutebook.features.http.requests import work
from minutebook.features.http.requests.work import Work
from minutebook.features.screening.operations import scan_secrets
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.tidying.operations import tidy
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Conflict, WorkSpent
from minutebook.record.records import Role
from tests.features.http.speaking import Server, served, token
from tests.world import World, wait_until

BEARER = Caller(name="ci", role=Role.HUMAN, token="t1")
DRY = {"topics": [], "limit": 5, "offset": 0, "dry_run": True}


def spent(act: str, caller: Caller) -> Caller:
    """The caller of a call that has worked as long as it may."""
    worked = Work(act, caller)
    worked(0.0, "")
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    return with_call(caller, progress=worked)


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "BUDGET", 0.005)


@pytest.mark.usefixtures("small_budget")
def test_a_call_in_the_name_of_a_token_ends_at_its_budget(world: World) -> None:
    world.remember("Refunds are paid by src/pay.py:refund")
    for act in (citing_texts, scan_secrets):
        assert act.is_long
        with pytest.raises(WorkSpent, match="more work than one call may"):
            act.act(world.app, spent(act.name, BEARER))
        # The owner of the machine has none.
        owner = Caller(name="root", role=Role.HUMAN)
        act.act(world.app, spent(act.name, owner))


@pytest.mark.usefixtures("small_budget")
def test_a_round_that_is_spent_goes_on_at_the_next_call_and_comes_to_its_end(world: World) -> None:
    for number in range(6):
        world.remember(f"The limit of queue{number} is 3.")
        world.remember(f"The limit of queue{number} is 5.")
    rounds = world.app.get(Rounds)
    whole = rounds.run(Caller(name="root", role=Role.HUMAN), dry_run=True)
    looked_at, found, calls = 0, 0, 0
    while True:
        worked, calls = Work("tidy", BEARER), calls + 1
        done = rounds.run(with_call(BEARER, progress=worked))
        looked_at, found = looked_at + done.looked_at, found + done.found.total()
        if not done.is_unfinished:
            break
        assert done.looked_at or calls > 1
        assert calls < 200
    assert calls > 1
    assert looked_at == whole.looked_at
    assert found == whole.found.total()


def test_a_call_whose_client_is_gone_ends_at_the_next_look() -> None:
    worked = Work("tidy", Caller(name="root", role=Role.HUMAN))
    worked(0.0, "")
    worked.leave()
    with pytest.raises(Conflict, match="its client is gone"):
        worked(0.1, "")


def test_what_reads_many_records_says_so() -> None:
    assert tidy.is_long
    assert {name for name, each in operations().items() if each.is_long} == {
        "citing_texts",
        "duplicates",
        "mask_secrets",
        "scan_secrets",
        "tidy",
    }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with served(tmp_path, MINUTEBOOK_LOG_LEVEL="info") as one:
        yield one


def test_a_client_that_leaves_ends_its_call(server: Server) -> None:
    secret = token(server.home, role=Role.HUMAN).secret
    headers = {"Authorization": f"Bearer {secret}"}
    for number in range(120):
        given = {"content": f"The limit of queue {number % 30} is {number}.", "type": "fact"}
        tool = {"name": "store_memory", "arguments": given}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
        assert server.post("/mcp", message, **headers).status_code == 200
    body = json.dumps(DRY)
    request = (
        f"POST /operations/tidy HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(request.encode())
        time.sleep(0.1)
    wait_until(lambda: any("tidy: Conflict" in line for line in server.said))
