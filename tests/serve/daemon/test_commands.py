"""Commands typed at a terminal while a daemon serves the store: real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minutebook import __version__
from minutebook.serve.daemon import client
from minutebook.serve.daemon.rendezvous import DaemonAddress, daemon_address
from minutebook.serve.invocation import Invocation

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


def test_a_command_beside_a_daemon_imports_what_reads_and_prints_and_no_more(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    typed(asked, "remember", "The kettle is in the attic.")
    found = typed(asked, "search", "kettle")
    assert "The kettle is in the attic." in found.stdout
    imported = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    heavy = ("numpy", "pydantic", "mcp", "anyio", "httpx2", "apsw", "asyncio")
    own = ("app", "config", "contracts", "services.search", "store", "embedding", "whereabouts")
    assert imported.isdisjoint({*heavy, *(f"minutebook.{each}" for each in own)})


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
    """Be a daemon that ends when it was asked for an operation."""
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


class Wire:
    """A connection on which one speaks to the daemon by hand."""

    def __init__(self, asked: Invocation, place: DaemonAddress) -> None:
        self._connection = place.socket.connect(20)
        self._answers = self._connection.makefile("rb")
        self.said = self.say(
            version=__version__,
            operations=True,
            given=asked.given,
            variables=asked.variables,
            user="ada",
            folder="",
        )

    def say(self, **message: object) -> dict[str, Any]:
        """Say something; what is answered."""
        self._connection.sendall(json.dumps(message).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self._answers.readline() or "{}")
        return answer

    def close(self) -> None:
        self._answers.close()
        self._connection.close()


@pytest.fixture
def wire(asked: Invocation, daemon: DaemonAddress) -> Iterator[Wire]:
    made = Wire(asked, daemon)
    assert made.said == {"ready": True}
    yield made
    made.close()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"operation": "export", "arguments": {"path": "x"}}, "is no operation"),
        ({"operation": "search", "arguments": {}}, "query is missing"),
        (
            {"operation": "search", "arguments": {"query": 1, "limit": 1}},
            "is not what search takes",
        ),
        ({"operation": "search", "arguments": {"query": "x", "limit": 1001}}, "must be 1 to 1,000"),
        ({"operation": "list_memories", "arguments": {"words": ["x"]}}, "is no argument"),
        ({"operation": "named_by_part", "arguments": {"kinds": ["token"], "part": "0"}}, "one of"),
        ({"command": ["remember", "x"]}, "is none that a daemon knows"),
        ({"words": ["remember", "x"]}, "is none that a daemon knows"),
    ],
)
def test_what_is_no_operation_is_refused_and_the_next_is_done(
    wire: Wire, message: dict[str, Any], said: str
) -> None:
    answer = wire.say(**message)
    assert answer["error"]["name"] == "InvalidInput"
    assert said in answer["text"]
    assert wire.say(operation="heads", arguments={}) == {"answer": [], "notes": {}}


def test_a_daemon_runs_no_words(asked: Invocation, daemon: DaemonAddress) -> None:
    request = {
        "version": __version__,
        "command": ["remember", "Tea at five."],
        "variables": asked.variables,
        "folder": "/",
        "user": "ada",
        "terminals": [False, False],
    }
    with daemon.socket.connect(20) as connection, connection.makefile("rb") as answers:
        connection.sendall(json.dumps(request).encode() + b"\n")
        assert "refused" in json.loads(answers.readline())
    assert json.loads(typed(asked, "list", "--json").stdout)["total"] == 0


def test_a_daemon_refuses_who_is_of_another_version_or_has_other_settings(
    asked: Invocation, daemon: DaemonAddress
) -> None:
    with daemon.socket.connect(20) as connection, connection.makefile("rb") as answers:
        hello = {
            "version": "0.0",
            "operations": True,
            "given": {},
            "variables": {},
            "user": "",
            "folder": "",
        }
        connection.sendall(json.dumps(hello).encode() + b"\n")
        assert "of version" in json.loads(answers.readline())["refused"]
    other = Invocation({"policy": "governed"}, (), asked.environment)
    assert "another policy" in Wire(other, daemon).said["refused"]


@pytest.mark.needs("tidying")
def test_a_bar_is_told_how_far_an_operation_is(wire: Wire) -> None:
    turn = {"operation": "tidy", "reports": True}
    given = {"topics": [], "limit": 1, "offset": 0, "dry_run": True}
    said = wire.say(**turn, arguments=given)
    assert said.keys() in ({"part", "what"}, {"answer", "notes"})


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


COMMANDS = [
    (["remember", "Tea at five."], 0),
    (["search", "tea"], 0),
    (["list"], 0),
    (["forget", "ID"], 1),
    (["decide"], 1),
    (["remember", "-"], 1),
]


@pytest.mark.parametrize("beside", [True, False], ids=["beside a daemon", "alone"])
@pytest.mark.whole
def test_a_command_needs_no_stdin(asked: Invocation, beside: bool) -> None:
    """With stdin closed, what needs nothing of it is done, and what does says so."""
    place = daemon_address(asked.address)
    environment = {**asked.environment, "EDITOR": "false", "VISUAL": "false"}
    if beside:
        client.start(asked, place)
    else:
        environment["MINUTEBOOK_DAEMON"] = "off"
    try:
        id = "none"
        for words, status in COMMANDS:
            given = [id if word == "ID" else word for word in words]
            done = subprocess.run(
                ["/bin/sh", "-c", 'exec "$0" -P -m minutebook "$@" <&-', sys.executable, *given],
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == status, (words, done.stderr)
            assert "Traceback" not in done.stderr
            if words[0] == "remember" and status == 0:
                id = done.stdout.strip()
    finally:
        if beside:
            client.stop(place)
