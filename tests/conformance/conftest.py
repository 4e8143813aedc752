"""What the conformance tests share: servers, each a process of its own on a port of its own."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.first_calls import without_model

ANYWHERE = "127.0.0.1:0"


@pytest.fixture(scope="module")
def conforming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the hidden contract is served, with what no contract gives beside it."""
    home = without_model(tmp_path_factory.mktemp("conforming") / "home")
    with serving("-m", "tests.conformance.serve", str(home), ANYWHERE) as url:
        yield f"{url}/mcp"


@pytest.fixture(scope="module")
def minutebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real server serves every contract."""
    home = without_model(tmp_path_factory.mktemp("served") / "home")
    with serving("-m", "minutebook", "serve", "--home", str(home), "--http", ANYWHERE) as url:
        yield url


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A data directory whose clients over stdio share a daemon, as they do unless told otherwise."""
    home = str(without_model(tmp_path_factory.mktemp("shared") / "home"))
    yield home
    command = [sys.executable, "-m", "minutebook", "daemon", "stop", "--home", home]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("Stopped"), f"they shared none: {done.stdout}"


@contextmanager
def serving(*arguments: str, seconds: float = 60) -> Iterator[str]:
    """Run a server as long as it is needed, from when it says where it serves."""
    root = Path(__file__).parents[2]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [sys.executable, *arguments], cwd=root, stdin=subprocess.DEVNULL, stderr=log
        ) as server,
    ):
        try:
            deadline, told = time.monotonic() + seconds, ""
            while (found := re.search(r"http://127\.0\.0\.1:\d+(?=\D)", told)) is None:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the server does not serve: {told[-2000:]}")
                time.sleep(0.05)
                log.seek(0)
                told = log.read()
            yield found[0]
        finally:
            server.kill()
