"""Connections that only wait make room for others, and do not wait for ever."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from minutebook.domain.caller import Caller
from minutebook.domain.records import Role
from minutebook.features.http.requests.connections import bounded
from tests.features.http.speaking import SINGLE, Server, call

MOST = 8
HALF_HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "
HALF_BODY = b"POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer; `/as/NAME` lets a token's bearer in, `/wait` reads the body, `/stay` at the end says no more."""
    path = scope["path"]
    if path.startswith("/as/"):
        name = path.removeprefix("/as/").removesuffix("/stay")
        scope["state"]["caller"] = Caller(name=name, role=Role.AGENT, token=name)
    if path == "/wait":
        while (await receive()).get("more_body"):
            pass
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    if path.endswith("/stay"):
        while (await receive())["type"] != "http.disconnect":
            pass
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def serving(patience: float) -> Iterator[tuple[str, int]]:
    """Serve `app` to at most MOST connections, in a thread; its address."""
    config = uvicorn.Config(
        app,
        http=bounded(patience, MOST),
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run = threading.Thread(target=asyncio.run, args=[server.serve(sockets=[listener])])
        run.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            run.join()


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with serving(patience=60.0) as address:
        yield address


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connected(
    opened: ExitStack, address: tuple[str, int], said: bytes = b"", of: str = "127.0.0.1"
) -> socket.socket:
    """A connection of an address of this machine, over which something was said."""
    one = opened.enter_context(socket.create_connection(address, 20, source_address=(of, 0)))
    one.sendall(said)
    return one


def asked(one: socket.socket, path: str = "/") -> bytes:
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return one.recv(4096)


def body_of(one: socket.socket) -> bytes:
    """The body of the next answer, which may come after its head."""
    answer = HTTPResponse(one)
    answer.begin()
    assert answer.status == 200
    return answer.read()


def is_closed(one: socket.socket) -> bool:
    """Whether the server has closed a connection, over which nothing is to come."""
    try:
        return one.recv(4096) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("said", [b"", HALF_HEAD, HALF_BODY], ids=["nothing", "head", "body"])
def test_requests_that_are_never_said_keep_nobody_out(
    opened: ExitStack, address: tuple[str, int], said: bytes
) -> None:
    held = [connected(opened, address, said) for _ in range(3 * MOST)]
    honest = connected(opened, address)
    assert asked(honest).startswith(b"HTTP/1.1 200")
    assert is_closed(held[0])
    assert asked(honest).startswith(b"HTTP/1.1 200")


def test_who_holds_most_makes_room(opened: ExitStack, address: tuple[str, int]) -> None:
    slow = connected(opened, address, HALF_HEAD, of="127.0.0.2")
    flood = [connected(opened, address, HALF_HEAD, of="127.0.0.3") for _ in range(3 * MOST)]
    assert is_closed(flood[0])
    slow.sendall(b"half\r\n\r\n")
    assert slow.recv(4096).startswith(b"HTTP/1.1 200")


def test_a_quarter_is_kept_for_who_was_let_in(opened: ExitStack, address: tuple[str, int]) -> None:
    known = [connected(opened, address) for _ in range(MOST // 4)]
    for number, one in enumerate(known):
        assert asked(one, f"/as/{number}").startswith(b"HTTP/1.1 200")
    flood = [
        connected(opened, address, HALF_HEAD, of=f"127.0.1.{host}") for host in range(1, 3 * MOST)
    ]
    assert is_closed(flood[0])
    for one in known:
        assert asked(one).startswith(b"HTTP/1.1 200")


def test_the_connections_of_one_token_are_counted_together(
    opened: ExitStack, address: tuple[str, int]
) -> None:
    other = connected(opened, address)
    assert asked(other, "/as/other").startswith(b"HTTP/1.1 200")
    mine = []
    for host in range(1, MOST + 1):
        mine.append(connected(opened, address, of=f"127.0.1.{host}"))
        assert asked(mine[-1], "/as/me").startswith(b"HTTP/1.1 200")
    assert is_closed(mine[0])
    assert asked(other, "/as/other").startswith(b"HTTP/1.1 200")


def test_what_is_being_answered_is_not_cut_off(opened: ExitStack, address: tuple[str, int]) -> None:
    busy = [connected(opened, address) for _ in range(MOST * 3 // 4)]
    for one in busy:
        assert asked(one, "/stay").startswith(b"HTTP/1.1 200")
    assert asked(connected(opened, address)).startswith(b"HTTP/1.1 503")
    for one in busy:
        one.settimeout(0.05)
        with pytest.raises(TimeoutError):
            one.recv(1)


def test_streams_of_callers_who_were_let_in_take_no_place_of_strangers(
    opened: ExitStack, address: tuple[str, int]
) -> None:
    for number in range(MOST * 3 // 4):
        one = connected(opened, address)
        assert asked(one, f"/as/{number}/stay").startswith(b"HTTP/1.1 200")
    stranger, another = connected(opened, address), connected(opened, address)
    assert asked(stranger).startswith(b"HTTP/1.1 200")
    assert asked(another).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("said", [b"", HALF_HEAD], ids=["nothing", "head"])
def test_a_head_has_its_time(opened: ExitStack, said: bytes) -> None:
    with serving(patience=0.2) as address:
        assert is_closed(connected(opened, address, said))


@pytest.mark.thorough
def test_half_sent_heads_by_the_hundred_keep_nobody_waiting(server: Server) -> None:
    with ExitStack() as opened:
        body = json.dumps(call("get_status")).encode()
        head = "".join(f"{name}: {told}\r\n" for name, told in SINGLE.items()).encode()
        head += b"Host: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        known = connected(
            opened, ("127.0.0.1", server.port), b"POST /mcp HTTP/1.1\r\n" + head + body
        )
        assert b"result" in body_of(known)
        for _ in range(560):
            connected(opened, ("127.0.0.1", server.port), HALF_HEAD)
        for _ in range(3):
            assert server.post("/mcp", call("get_status")).status_code == 200
        known.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert body_of(known) == b'{"status":"alive"}'
