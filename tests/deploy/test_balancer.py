"""The balancer's file as it is shipped, run by HAProxy before two servers on one database."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.records import Role
from minutebook.record.rights.grants import Grant
from minutebook.serve.limits import CONNECTIONS
from tests.deploy.test_files import DEPLOY
from tests.features.http.speaking import BOTH, OWNER, PLAIN, Server, call, initialize, served
from tests.features.postgres import server as postgres_server
from tests.world import wait_until

HAPROXY = shutil.which("haproxy")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        HAPROXY is None, reason="needs HAProxy; `apt-get install haproxy` brings it"
    ),
]


@dataclass(frozen=True)
class Balanced:
    """Two servers, what stands before them, and tokens to come with."""

    front: Server
    servers: list[Server]
    tokens: list[str]

    def session(self, token: str) -> str:
        """Open a session through the balancer; return its id."""
        headers = BOTH | {"Authorization": f"Bearer {token}"}
        answer = httpx2.post(
            self.front.url + "/mcp", json=initialize(), headers=headers, timeout=60, verify=False
        )
        assert answer.status_code == 200, answer.text
        return answer.headers["Mcp-Session-Id"]

    def ask(self, token: str, session: str, where: Server | None = None) -> int:
        """Call a tool in a session, through the balancer unless a server is named; its status."""
        headers = BOTH | {"Authorization": f"Bearer {token}", "Mcp-Session-Id": session}
        at = (where or self.front).url
        body = call("get_status")
        return httpx2.post(at + "/mcp", json=body, headers=headers, **PLAIN).status_code

    def holder(self, token: str, session: str) -> Server:
        """The one server that knows a session; the other says 404."""
        known = [each for each in self.servers if self.ask(token, session, each) == 200]
        assert len(known) == 1
        return known[0]


@contextmanager
def balancing(folder: Path, servers: list[Server], *, is_first: bool = False) -> Iterator[int]:
    """Run HAProxy with the shipped file, its addresses replaced by those of this test; its port.

    `is_first` takes in the lines that are for clients who come through no other proxy.
    """
    text = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
    if is_first:
        text, count = re.subn(r"^    # (stick-table|tcp-request)", r"    \1", text, flags=re.M)
        assert count == 3
    for number, server in enumerate(servers, 1):
        text, count = re.subn(rf" server-{number}:8765", f" 127.0.0.1:{server.port}", text)
        assert count == 2
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        text, count = re.subn(
            r"^    bind :8080$", f"    bind fd@{listener.fileno()}", text, flags=re.M
        )
        assert count == 1
        file = folder / "haproxy.cfg"
        file.write_text(text, encoding="utf-8")
        assert HAPROXY is not None
        process = subprocess.Popen(
            [HAPROXY, "-f", str(file), "-db"],
            pass_fds=[listener.fileno()],
            stdout=(folder / "haproxy.log").open("wb"),
            stderr=subprocess.STDOUT,
        )
        try:
            yield listener.getsockname()[1]
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def balanced(tmp_path: Path) -> Iterator[Balanced]:
    name = f"balanced_{uuid4().hex}"
    postgres_server.server().make_store(name)
    url = postgres_server.server().url(name)
    app = open_app(settings_with(home=tmp_path / "desk", store=url, embedder="none"))
    grants = [
        Grant(name=f"ci{number}", role=Role.AGENT, organization="acme", repositories=None)
        for number in range(24)
    ]
    tokens = [app.tokens.create(OWNER, grant).secret for grant in grants]
    app.close()
    with ExitStack() as running:
        servers = [
            running.enter_context(served(tmp_path / f"{n}", "--ui", MINUTEBOOK_STORE=url))
            for n in (1, 2)
        ]
        port = running.enter_context(balancing(tmp_path, servers))
        front = replace(servers[0], port=port)
        wait_until(lambda: front.get("/healthz").status_code == 200)
        yield Balanced(front, servers, tokens)
    postgres_server.server().drop(name)


def test_a_session_stays_with_its_server_and_a_lost_server_is_replaced(balanced: Balanced) -> None:
    sessions = {token: balanced.session(token) for token in balanced.tokens}
    # Each call of each session comes to the server that opened it, whatever comes between.
    for _ in range(3):
        assert {balanced.ask(*each) for each in sessions.items()} == {200}
    held = {token: balanced.holder(token, session) for token, session in sessions.items()}
    assert {each.port for each in held.values()} == {each.port for each in balanced.servers}
    lost, left = balanced.servers
    lost.process.kill()
    lost.process.wait()
    # To begin anew works at once; a session of the lost server is unknown, those of the other go on.
    for token, session in sessions.items():
        wait_until(lambda: balanced.ask(token, session) in (200, 404))  # noqa: B023
        assert balanced.ask(token, session) == (200 if held[token] is left else 404)
    again = {token: balanced.session(token) for token in balanced.tokens}
    assert {balanced.ask(*each) for each in again.items()} == {200}


def test_a_person_stays_where_they_signed_in(balanced: Balanced) -> None:
    for token in balanced.tokens[:4]:
        with httpx2.Client(base_url=balanced.front.url, follow_redirects=True, **PLAIN) as browser:
            form = browser.get("/health")
            assert str(form.url) != f"{balanced.front.url}/health"
            fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form.text))
            browser.post(
                str(form.url),
                data=fields | {"token": token},
                headers={"Origin": balanced.front.url},
            )
            pages = [browser.get("/health") for _ in range(6)]
            assert {(page.status_code, str(page.url)) for page in pages} == {
                (200, f"{balanced.front.url}/health")
            }


def is_cut(front: Server) -> bool:
    """Whether a new connection is closed without an answer."""
    try:
        front.get("/healthz")
    except httpx2.TransportError:
        return True
    return False


def test_slow_clients_are_waited_for_before_a_server_hears_of_them(tmp_path: Path) -> None:
    with served(tmp_path / "one") as server, ExitStack() as opened:
        port = opened.enter_context(balancing(tmp_path, [server, server]))
        front = replace(server, port=port)
        wait_until(lambda: front.get("/healthz").status_code == 200)
        held = [
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(600)
        ]
        for each in held[:300]:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half: ")
        for each in held[300:]:
            each.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        # The server itself would have had no place left.
        assert len(held) > CONNECTIONS
        assert front.post("/mcp", call("get_status")).status_code == 200
        assert {held[0].recv(12)[8:], held[-1].recv(12)[8:]} == {b" 408"}


def test_one_address_can_be_held_to_its_part_of_the_connections(tmp_path: Path) -> None:
    with served(tmp_path / "one") as server, ExitStack() as opened:
        port = opened.enter_context(balancing(tmp_path, [server, server], is_first=True))
        front = replace(server, port=port)
        wait_until(lambda: front.get("/healthz").status_code == 200)
        held = opened.enter_context(ExitStack())

        def is_full() -> bool:
            # The proxy closes a silent connection after ten seconds: a stalled machine begins anew.
            held.close()
            for _ in range(220):
                # Those beyond its part may be reset at once.
                with suppress(ConnectionResetError):
                    held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            return is_cut(front)

        wait_until(is_full)
        elsewhere = opened.enter_context(
            socket.create_connection(("127.0.0.1", port), 60, source_address=("127.0.0.2", 0))
        )
        elsewhere.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert elsewhere.recv(12) == b"HTTP/1.1 200"


def test_figures_of_one_server_are_not_shown_as_those_of_all(balanced: Balanced) -> None:
    assert balanced.front.get("/metrics").status_code == 404
    # A server is ready once its model is loaded.
    wait_until(lambda: balanced.front.get("/readyz").status_code == 200)
