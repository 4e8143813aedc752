"""Thousands of sessions and subscriptions on one server: as many as are promised, the others refused, and a caller is still served."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from minutebook.record.records import Role
from minutebook.serve.limits import SESSIONS, WATCHED_RESOURCES, quota_of
from tests.faults.campaign import report, rounds
from tests.features.http.speaking import (
    BOTH,
    PLAIN,
    Server,
    call,
    initialize,
    request,
    served,
    token,
)
from tests.world import wait_until

PATH = "/mcp/catalog"
CALLERS = 5
MOST_GROWTH = 64 * 1024
"""KiB by which refusals may make the server grow, at most."""


class Crowd:
    """Callers who open sessions, each with a token of its own."""

    def __init__(self, home: Path) -> None:
        self.tokens = [token(home, f"caller {n}", Role.HUMAN).secret for n in range(CALLERS)]
        self.probe = token(home, "probe", Role.HUMAN).secret
        self.sessions: list[tuple[str, str]] = []

    def open(self, http: httpx2.Client, caller: str) -> int:
        """Open a session; return the status of the answer, which says why where it is a refusal."""
        message = initialize()
        answer = http.post(PATH, json=message, headers=BOTH | _bearer(caller))
        if (id := answer.headers.get("mcp-session-id")) is not None:
            self.sessions.append((caller, id))
        else:
            assert "sessions" in answer.text
        return answer.status_code


@pytest.fixture
def crowd(tmp_path: Path) -> Crowd:
    return Crowd(tmp_path)


def test_thousands_of_sessions_and_subscriptions_are_bounded_and_refused_politely(
    crowd: Crowd, tmp_path: Path
) -> None:
    asked = rounds(60, 5000)
    with (
        served(tmp_path, MINUTEBOOK_RATE_LIMIT="0") as server,
        httpx2.Client(base_url=server.url, **PLAIN) as http,
    ):
        assert _probe(http, crowd) >= 0
        before = _resident(server)
        opened = Counter(crowd.open(http, crowd.tokens[n % CALLERS]) for n in range(asked))
        taken = min(asked, SESSIONS, CALLERS * quota_of(SESSIONS))
        assert opened[200] == len(crowd.sessions) == taken
        assert opened.keys() <= {200, 429, 503}
        full = _resident(server)
        again = Counter(crowd.open(http, crowd.tokens[0]) for _ in range(rounds(0, 1000)))
        assert 200 not in again
        assert _resident(server) - full < MOST_GROWTH
        sessions = crowd.sessions[: rounds(1, 50)]
        watched = sum(_subscribed(http, *each) for each in sessions)
        assert watched == len(sessions) * WATCHED_RESOURCES
        worst = max(_probe(http, crowd) for _ in range(20))
        grown = _resident(server)
        for caller, id in crowd.sessions:
            http.delete(PATH, headers=_bearer(caller) | {"Mcp-Session-Id": id})
        wait_until(lambda: crowd.open(http, crowd.tokens[0]) == 200)
        for what, count, held in (
            ("sessions", asked + again.total(), taken),
            ("subscriptions", len(sessions) * (WATCHED_RESOURCES + 1), watched),
        ):
            report(
                "many sessions",
                what,
                asked=count,
                held=held,
                refused=count - held,
                before=before // 1024,
                most=(full if what == "sessions" else grown) // 1024,
                probe=worst,
            )


def _subscribed(http: httpx2.Client, caller: str, session: str) -> int:
    """Subscribe to one resource more than a session may watch; return how many are watched."""
    headers = BOTH | _bearer(caller) | {"Mcp-Session-Id": session}
    http.post(PATH, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    held = 0
    for number in range(WATCHED_RESOURCES + 1):
        message = request("resources/subscribe", id=number + 2, uri=f"memory://{number:020}")
        answer = _answer(http.post(PATH, json=message, headers=headers))
        held += "result" in answer
        assert "result" in answer or "unsubscribe" in answer["error"]["message"]
    return held


def _answer(response: httpx2.Response) -> dict[str, Any]:
    """Return the message in an answer, which may be a stream of one event."""
    lines = [line for line in response.text.splitlines() if line.startswith("data: {")]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix("data: ") if lines else response.text)
    return found


def _probe(http: httpx2.Client, crowd: Crowd) -> float:
    """Call a tool as another caller; return the milliseconds that it took."""
    began = time.perf_counter()
    answer = http.post("/mcp", json=call("get_status"), headers=BOTH | _bearer(crowd.probe))
    assert answer.status_code == 200
    assert not _answer(answer)["result"]["isError"]
    return (time.perf_counter() - began) * 1000


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def _resident(server: Server) -> int:
    """Return the KiB of memory that a server holds."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
