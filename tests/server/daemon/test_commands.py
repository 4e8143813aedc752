"""Commands typed at a terminal while a daemon serves the store: real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from minutebook import __version__
from minutebook.invocation import Invocation
from minutebook.server.daemon import client
from minutebook.server.daemon.command_client import PRINTED
from minutebook.server.daemon.commands import Command, Host, Write, answer
from minutebook.server.daemon.rendezvous import DaemonAddress, daemon_address

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")

OWN_PROCESS = "minutebook.app"
"""The module that a command imports when its own process opens the store."""


@pytest.fixture
def asked(tmp_path: Path) -> Invocation:
    """What commands and the daemon of this test are given."""
    variables = {"MINUTEBOOK_DAEMON": "on", "MINUTEBOOK_EMBEDDER": "none"}
    environment = {**os.environ, **variables, "MINUTEBOOK_HOME": str(tmp_path / "home")}
    return Invocation({}, (), environment)


@pytest.fixture
def daemon(asked: Invocation) -> Iterator[DaemonAddress]:
    place = daemon_address(asked.address)
    client.start(asked, place)
    yield place
    client.stop(place)


def typed(asked: Invocation, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that lists what it imports on stderr."""
    return subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "minutebook", *words],
        env=dict(asked.environment),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_command_has_the_daemon_read_and_write(asked: Invocation, daemon: DaemonAddress) -> None:
    kept = typed(asked, "remember", "The kettle is in the attic.")
    listed = typed(asked, "list")
    assert kept.stdout.strip() in listed.stdout
    assert "The kettle is in the attic." in listed.stdout
    assert OWN_PROCESS not in kept.stderr + listed.stderr
    unknown = typed(asked, "show", "00000000000000000000")
    assert unknown.returncode == 1
    assert "there is no memory 00000000000000000000" in unknown.stderr
    assert OWN_PROCESS not in unknown.stderr


@pytest.mark.thorough
def test_a_command_does_not_wait_for_a_daemon_that_does_not_answer(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    status = client.ask(daemon, "status")
    assert status is not None
    pid = int(str(status["pid"]))
    os.kill(pid, signal.SIGSTOP)
    try:
        kept = typed(asked, "remember", "Tea at five.")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert OWN_PROCESS in kept.stderr
    listed = typed(asked, "list", "--json")
    assert json.loads(listed.stdout)["total"] == 1


@contextmanager
def ending(place: DaemonAddress) -> Iterator[None]:
    """Be a daemon that ends when it was told to run a command."""
    with place.socket.open() as listener:

        def end() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                lines.readline()
                connection.sendall(b'{"ready": true}\n')
                lines.readline()

        thread = threading.Thread(target=end)
        thread.start()
        yield
        thread.join()
    place.unlink()


@pytest.mark.thorough
def test_a_daemon_that_ended_within_a_command_is_told_where_it_may_have_written(
    asked: Invocation,
) -> None:
    with ending(daemon_address(asked.address)):
        kept = typed(asked, "remember", "Tea at five.")
    assert kept.returncode == 1
    assert "the daemon ended while it ran `remember`" in kept.stderr
    assert OWN_PROCESS not in kept.stderr
    with ending(daemon_address(asked.address)):
        listed = typed(asked, "list")
    # It was read again by a process of its own, which finds that nothing was ever kept there.
    assert (listed.returncode, listed.stdout) == (1, "")
    assert "there is no store" in listed.stderr


@pytest.mark.parametrize(("said", "noted"), [(PRINTED, ["noted"]), (b"", []), (b"other\n", [])])
def test_what_is_noted_once_a_client_printed_all_is_noted_then_alone(
    said: bytes, noted: list[str]
) -> None:
    ours, theirs = socket.socketpair()
    done: list[str] = []
    host = Host(cast("Any", None), lambda settings: None, cast("Any", None))

    def run(command: Command, host: Host, write: Write) -> int:
        host.when_read.append(lambda: done.append("noted"))
        return 0

    request = {
        "version": __version__,
        "command": ["hook"],
        "variables": {},
        "folder": "/",
        "user": "ada",
        "terminals": [False, False],
    }
    with ours, theirs:
        # All that the client says lies ready: one that printed nothing in time just leaves.
        theirs.sendall(b"go\n")
        with theirs.makefile("rb") as answers:
            server = threading.Thread(target=answer, args=(ours, request, host, run))
            server.start()
            assert [json.loads(answers.readline()) for _ in range(2)] == [
                {"ready": True},
                {"status": 0},
            ]
            assert done == []
            theirs.sendall(said)
        theirs.close()
        server.join()
    assert done == noted


NOT_HOSTED = [
    ["export", "PATH"],
    ["install", "claude-code"],
    ["serve", "--http", "127.0.0.1:0"],
    ["settings", "set", "hooks", "off"],
    ["token", "create", "ana"],
    ["token", "--", "create", "ana"],
    ["audit", "key", "--to", "PATH"],
    ["--home", "HOME", "export", "PATH"],
    ["--", "export", "PATH"],
    ["--url", "remember", "export", "PATH"],
]


def test_a_daemon_itself_refuses_a_command_that_it_does_not_run(
    asked: Invocation, daemon: DaemonAddress, tmp_path: Path
) -> None:
    assert typed(asked, "remember", "Tea at five.").returncode == 0
    named = {"PATH": str(tmp_path / "made"), "HOME": asked.home}
    before = set(tmp_path.rglob("*"))
    for words in NOT_HOSTED:
        request = {
            "version": __version__,
            "command": [named.get(word, word) for word in words],
            "variables": asked.variables,
            "folder": str(tmp_path),
            "user": "ada",
            "terminals": [False, False],
        }
        with daemon.socket.connect(20) as connection, connection.makefile("rb") as answers:
            connection.sendall(json.dumps(request).encode() + b"\n")
            assert json.loads(answers.readline()) == {"ready": True}
            connection.sendall(b"go\n")
            *printed, end = [json.loads(line) for line in answers]
        # One that click itself cannot read is told so.
        assert ("refused" in end and not printed) or end == {"status": 2}, words
    assert {path for path in tmp_path.rglob("*") if path.suffix != ".log"} <= before


def test_text_on_the_stdin_of_a_command_is_read_where_it_was_typed(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    kept = subprocess.run(
        [sys.executable, "-P", "-m", "minutebook", "remember", "--", "-"],
        env=dict(asked.environment),
        input="Typed here.",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert kept.returncode == 0, kept.stderr
    assert "Typed here." in typed(asked, "list").stdout
