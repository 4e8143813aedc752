"""One who comes with a token, and wants all there is, leaves enough for the others."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from minutebook.record.records import Role
from minutebook.serve.limits import SESSIONS, STREAMS, THREADS, quota_of
from tests.features.http.speaking import BOTH, Server, call, initialize, served, token

JOURNAL = "/mcp/journal"
TURNS = THREADS + 5


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    home = tmp_path_factory.mktemp("shared")
    greedy, other = (token(home, name, Role.HUMAN).secret for name in ("greedy", "other"))
    return home, f"Bearer {greedy}", f"Bearer {other}"


@pytest.fixture(scope="module")
def server(secrets: tuple[Path, str, str]) -> Iterator[Server]:
    with served(secrets[0], MINUTEBOOK_RATE_LIMIT="0") as one:
        yield one


@pytest.fixture
def greedy(secrets: tuple[Path, str, str]) -> str:
    return secrets[1]


@pytest.fixture
def other(secrets: tuple[Path, str, str]) -> str:
    return secrets[2]


def opened(server: Server, authorization: str, path: str = "/mcp") -> str | None:
    """Open a session of a client that lets its model be asked; None where it is refused."""
    message = initialize()
    message["params"]["capabilities"] = {"sampling": {}}
    answer = server.post(path, message, Authorization=authorization, **BOTH)
    assert answer.status_code in (200, 429)
    return answer.headers.get("mcp-session-id")


def asked(server: Server, authorization: str, session: str, message: object) -> socket.socket:
    """Post a message, and wait for the first bytes that come back."""
    body = json.dumps(message).encode()
    head = "\r\n".join(
        [
            f"POST {JOURNAL} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: {authorization}",
            f"Mcp-Session-Id: {session}",
            *(f"{name}: {told}" for name, told in BOTH.items()),
            f"Content-Length: {len(body)}",
        ]
    )
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(f"{head}\r\n\r\n".encode() + body)
    connection.recv(15, socket.MSG_WAITALL)
    return connection


@pytest.mark.thorough
def test_calls_of_clients_that_hung_up_leave_threads_to_others(
    server: Server, greedy: str, other: str
) -> None:
    for number in range(TURNS):
        turn = call("add_memory", prompt="p", thought="t", response="r", sessionId=f"s{number}")
        assert server.post(JOURNAL, turn, Authorization=greedy).status_code == 200
    session = opened(server, greedy, JOURNAL)
    assert session is not None
    for number in range(TURNS):
        # Its model is asked, and never answers.
        message = call("summarize_sessions", sessionId=f"s{number}") | {"id": number + 10}
        asked(server, greedy, session, message).close()
    answer = server.post("/mcp", call("get_status"), Authorization=other)
    assert not answer.json()["result"]["isError"]


@pytest.mark.thorough
def test_one_opens_a_quarter_of_the_sessions_and_streams(
    server: Server, greedy: str, other: str
) -> None:
    sessions = [opened(server, greedy) for _ in range(quota_of(SESSIONS) + 1)]
    assert None not in sessions[:-1]
    assert sessions[-1] is None
    assert opened(server, other) is not None
    with ExitStack() as streams:
        heard = []
        for session in sessions[: quota_of(STREAMS) + 1]:
            stream = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            streams.enter_context(stream)
            stream.sendall(
                f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {greedy}\r\n"
                f"Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n".encode()
            )
            heard.append(stream.recv(12, socket.MSG_WAITALL))
    assert {*heard[:-1]} == {b"HTTP/1.1 200"}
    assert heard[-1] == b"HTTP/1.1 429"
