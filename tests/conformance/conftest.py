"""What the conformance tests share: the hidden contract, served by a process of its own."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.first_calls import without_model


@pytest.fixture(scope="module")
def conforming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the hidden contract is served, with what no contract gives beside it."""
    home, port = tmp_path_factory.mktemp("conforming"), free_port()
    command = [sys.executable, "-m", "tests.conformance.serve", str(home), str(port)]
    with process(command, port):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="module")
def minutebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real server serves every contract."""
    home, port = without_model(tmp_path_factory.mktemp("served") / "home"), free_port()
    address = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "minutebook", "serve", "--home", str(home), "--http", address]
    with process(command, port):
        yield f"http://{address}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def process(command: list[str], port: int, seconds: float = 60) -> Iterator[None]:
    """Run a server as long as it is needed, from the moment that it listens."""
    root = Path(__file__).parents[2]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=root, stdin=subprocess.DEVNULL, stderr=log) as server,
    ):
        try:
            if not _listens(server, port, time.monotonic() + seconds):
                log.seek(0)
                pytest.fail(f"the server does not listen: {log.read()[-2000:]}")
            yield
        finally:
            server.kill()


def _listens(server: subprocess.Popen[bytes], port: int, deadline: float) -> bool:
    while server.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False
