"""`minutebook ui` while a daemon serves the store: the pages are the daemon's, real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from minutebook.serve.daemon import client
from minutebook.serve.daemon.rendezvous import DaemonAddress, daemon_address
from minutebook.serve.invocation import Invocation
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")


@pytest.fixture
def asked(tmp_path: Path) -> Invocation:
    """What the pages and the daemon of this test are given."""
    variables = {"MINUTEBOOK_DAEMON": "on", "MINUTEBOOK_EMBEDDER": "none"}
    environment = {**os.environ, **variables, "MINUTEBOOK_HOME": str(tmp_path / "home")}
    return Invocation({}, (), environment)


@pytest.fixture
def daemon(asked: Invocation) -> Iterator[DaemonAddress]:
    place = daemon_address(asked.address)
    client.start(asked, place)
    yield place
    client.stop(place)


@contextmanager
def shown(asked: Invocation, *options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The pages as a person opens them: the process that they wait in, and the link."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "minutebook", "ui", "--no-browser", *options],
        env=dict(asked.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate(timeout=60)


def clients_of(place: DaemonAddress) -> object:
    status = client.ask(place, "status")
    return None if status is None else status["clients"]


def test_the_daemon_serves_the_pages_as_long_as_they_are_waited_for(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    with shown(asked) as (process, link), httpx2.Client(timeout=60) as browser:
        assert clients_of(daemon) == 1
        # Where the daemon serves, its process has the port, and not the one that was typed.
        assert browser.get(link, follow_redirects=True).status_code == 200
        base = link.partition("/enter")[0]
        assert "Sign out" in browser.get(f"{base}/settings").text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        wait_until(lambda: clients_of(daemon) == 0)
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(base, timeout=60)


@pytest.mark.thorough
def test_who_waits_for_the_pages_is_told_that_the_daemon_has_ended(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    with shown(asked) as (process, link):
        assert link.startswith("http://127.0.0.1:")
        assert client.stop(daemon)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "The daemon has ended, and the pages with it" in said


@pytest.mark.thorough
def test_without_a_daemon_or_with_other_settings_than_its_the_process_serves_the_pages_itself(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    with shown(asked, "--policy", "governed") as (_, link):
        assert clients_of(daemon) == 0
        assert httpx2.get(link, timeout=60).status_code == 303
    client.stop(daemon)
    with shown(asked) as (process, link):
        assert httpx2.get(link, timeout=60).status_code == 303
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
