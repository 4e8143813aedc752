"""A real server on a port of this machine, and clients that speak to it."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.memory.access.tokens import Tokens
from minutebook.record.caller import Caller
from minutebook.record.records import Role
from minutebook.record.rights.grants import Grant, NewToken
from minutebook.store.disk.filelock import FileLock
from tests import line_client

PLAIN: Any = {"timeout": 60, "verify": False}
"""Options of a client that needs no certificates: to load them takes longer than a request."""

OFFLINE = {"MINUTEBOOK_EMBEDDER": "none"}
SINGLE = {"Content-Type": "application/json", "Accept": "application/json"}
BOTH = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
OWNER = Caller(name="root", role=Role.HUMAN, writes_system=True)
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def request(method: str, id: int = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", name=tool, arguments=arguments)


def initialize(version: str = "2025-06-18") -> dict[str, Any]:
    return line_client.initialize(version, id=1)


@dataclass
class Server:
    """A server process, where it listens, and what it said."""

    home: Path
    process: subprocess.Popen[str]
    port: int
    said: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, path: str, message: Any, **headers: str) -> httpx2.Response:
        """Post one message, as a client that knows no sessions."""
        given = SINGLE | {name.replace("_", "-"): told for name, told in headers.items()}
        body = message if isinstance(message, bytes) else None
        json = None if isinstance(message, bytes) else message
        return httpx2.post(self.url + path, content=body, json=json, headers=given, **PLAIN)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        given = {name.replace("_", "-"): told for name, told in headers.items()}
        return httpx2.get(self.url + path, headers=given, **PLAIN)

    def raw(self, data: bytes, patience: float = 60.0) -> bytes:
        """Send bytes over a connection; all that comes back until the server closes it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as one:
            one.sendall(data)
            heard = b""
            while part := one.recv(65536):
                heard += part
        return heard

    def end(self, ending: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(ending)
        return self.process.wait(timeout=60)

    def client(self, path: str = "/mcp", token: str | None = None, **options: Any) -> Client:
        """The official client; `mode` says in which revision it speaks."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        http = httpx2.AsyncClient(headers=headers, **PLAIN)
        return Client(streamable_http_client(self.url + path, http_client=http), **options)


@contextmanager
def served(
    home: Path, *options: str, address: str = "127.0.0.1:0", **environment: str
) -> Iterator[Server]:
    """Serve until the block ends."""
    with serving(home, *options, address=address, environment=environment) as server:
        yield server


@contextmanager
def serving(
    home: Path,
    *options: str,
    address: str = "127.0.0.1:0",
    stdin: int = subprocess.DEVNULL,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Server]:
    """Serve until the block ends, with this stdin."""
    command = [sys.executable, "-m", "minutebook", "serve", "--http", address]
    process = subprocess.Popen(
        [*command, "--home", str(home), *options],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **OFFLINE, **environment},
    )
    assert process.stderr is not None
    said: list[str] = []
    try:
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"serves at http://.*:(\d+)/mcp", line):
                break
        else:
            raise AssertionError(f"the server did not start: {said}")
        threading.Thread(target=said.extend, args=[process.stderr], daemon=True).start()
        server = Server(home, process, int(found[1]), said)
        while not answers(server):
            time.sleep(0.02)
        yield server
    finally:
        process.kill()
        process.wait()


@contextmanager
def writing(home: Path) -> Iterator[None]:
    """Hold the store of a server that has it open, so that each of its writes waits."""
    lock = FileLock(home / "minutebook.db-lock")
    lock.acquire(60.0)
    try:
        yield
    finally:
        lock.close()


@contextmanager
def occupied(server: Server) -> Iterator[None]:
    """Take the one call that a server with CALLS 1 takes on: a write, which waits."""
    assert server.post("/mcp", call("get_status")).status_code == 200
    with writing(server.home):
        while True:
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as busy:
                busy.sendall(posted(call("store_memory", content="It waits.")))
                # It may itself come while a look takes the only place, and be refused: then once more.
                while not select.select([busy], [], [], 0)[0]:
                    if server.post("/mcp", call("get_status")).status_code == 429:
                        yield
                        return


def posted(message: dict[str, Any]) -> bytes:
    """Return the request that posts a message."""
    body = json.dumps(message).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    head += "".join(f"{name}: {told}\r\n" for name, told in SINGLE.items())
    return f"{head}\r\n".encode() + body


def answers(server: Server) -> bool:
    """Whether it serves by now: it listens before it does."""
    return server.get("/healthz").status_code == 200


@contextmanager
def tokens_of(home: Path) -> Iterator[Tokens]:
    """The tokens of a data directory, as its owner keeps them beside the server."""
    app = open_app(settings_with(home=home, embedder="none"))
    try:
        yield app.tokens
    finally:
        app.close()


def token(home: Path, name: str = "ci", role: Role = Role.AGENT, **grant: Any) -> NewToken:
    """Make a token where the data directory is."""
    told: dict[str, Any] = {"organization": "acme", "repositories": None} | grant
    with tokens_of(home) as tokens:
        return tokens.create(OWNER, Grant(name=name, role=role, **told))
