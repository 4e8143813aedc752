"""Daemons that are slow, or cannot be: who waits for them, what is said, and when they end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from minutebook.serve.daemon import process
from minutebook.serve.daemon import rendezvous as meeting_places
from minutebook.store.disk.filelock import FileLock
from tests.line_client import INITIALIZED
from tests.serve.daemon.test_process import CALL, WITHOUT, House, content, house_in, kept, stored
from tests.serve.stdio.speaking import INITIALIZE
from tests.terminal import typed
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as one:
        yield one


@pytest.mark.thorough
def test_a_daemon_that_is_slow_to_start_is_waited_for_by_all(house: House) -> None:
    place = house.place()
    # Whoever holds this is, for all others, a daemon that starts.
    starting = FileLock(Path(place.lock))
    assert starting.try_acquire()
    pipes = [house.spawn() for _ in range(3)]
    for pipe in pipes:
        assert pipe.handshake("2025-06-18")["result"]["serverInfo"]["name"] == "memory-mcp"
        pipe.send({"jsonrpc": "2.0", "id": "tools", "method": "tools/list"})
        assert len(pipe.read()["result"]["tools"]) == 21
    for number, pipe in enumerate(pipes):
        fact = {"name": "store_memory", "arguments": {"content": f"fact {number}"}}
        pipe.send({**CALL, "id": number, "params": fact})
    time.sleep(3)
    assert not house.daemons()
    starting.close()
    for number, pipe in enumerate(pipes):
        assert pipe.read()["id"] == number
    assert kept(pipes[0]) == {"fact 0", "fact 1", "fact 2"}
    assert [each["clients"] for each in house.daemons()] == [3]
    assert not any(WITHOUT in house.said(pipe) for pipe in pipes)


@pytest.mark.thorough
def test_a_daemon_that_does_not_answer_for_a_while_is_waited_for(house: House) -> None:
    stored(house.client(), "before")
    pid = house.pid()
    os.kill(pid, signal.SIGSTOP)
    pipe = house.spawn()
    assert pipe.handshake()["result"]["serverInfo"]
    pipe.send({**CALL, "id": "read", "params": {"name": "list_memories", "arguments": {}}})
    wait_until(lambda: b"waiting for it" in house.said(pipe))
    os.kill(pid, signal.SIGCONT)
    assert content(pipe.read())["total"] == 1
    assert WITHOUT not in house.said(pipe)
    assert house.pid() == pid


def test_a_client_that_leaves_does_not_wait_for_a_daemon(house: House) -> None:
    starting = FileLock(Path(house.place().lock))
    assert starting.try_acquire()
    pipe = house.spawn()
    pipe.handshake()
    assert pipe.process.stdin is not None
    pipe.process.stdin.close()
    assert pipe.process.wait(timeout=60) == 0
    starting.close()


def test_all_that_was_asked_is_answered_by_a_daemon_that_starts_after_the_client_ended(
    house: House,
) -> None:
    pipe = house.spawn()
    pipe.send(INITIALIZE)
    pipe.send(INITIALIZED)
    pipe.send({**CALL, "id": "read", "params": {"name": "list_memories", "arguments": {}}})
    assert pipe.process.stdin is not None
    pipe.process.stdin.close()
    assert pipe.read()["id"] == INITIALIZE["id"]
    assert content(pipe.read())["total"] == 0
    assert pipe.process.wait(timeout=60) == 0


def test_settings_that_cannot_be_served_are_told_to_who_asks(house: House) -> None:
    pipe = house.spawn("--role", "king")
    pipe.handshake()
    pipe.send({**CALL, "id": "read", "params": {"name": "list_memories", "arguments": {}}})
    assert "role must be one of viewer" in pipe.read()["error"]["message"]
    assert pipe.process.wait(timeout=60) == 1
    said = house.said(pipe)
    assert said.startswith(b"minutebook: role must be one of viewer")
    assert said.count(b"\n") == 1


def test_a_door_that_is_removed_is_made_again(house: House) -> None:
    house.client()
    pid, door = house.pid(), Path(house.place().socket.path)
    door.unlink()
    wait_until(door.exists)
    assert stored(house.client(), "let in")
    assert house.pid() == pid


def test_the_status_says_for_how_long_nobody_was_connected(house: House) -> None:
    pipe = house.client()
    (status,) = house.daemons()
    assert status["idle_seconds"] is status["ends_in_seconds"] is None
    pipe.process.kill()
    wait_until(lambda: [each["clients"] for each in house.daemons()] == [0])
    (status,) = house.daemons()
    assert status["idle_seconds"] + status["ends_in_seconds"] == process.IDLE


def test_to_be_asked_keeps_no_daemon_alive(house: House) -> None:
    house.set(serve__daemon__process__IDLE=3.0)
    house.client().process.kill()
    # Each look asks it.
    wait_until(lambda: not house.daemons())


def test_all_of_a_users_daemons_are_shown_and_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder of daemons of its own: those of other tests go on.
    monkeypatch.setattr(meeting_places, "_folder", lambda: str(tmp_path))
    tmp_path.chmod(0o700)
    begin = (
        "import sys; from minutebook.serve.daemon import rendezvous, start;"
        f"rendezvous._folder = lambda: {str(tmp_path)!r}; start.main(*sys.argv[1:], print)"
    )
    with ExitStack() as stack:
        daemons = []
        for name in ("one", "two"):
            given = {"home": str(tmp_path / name), "embedder": "none"}
            options = json.dumps({"given": given, "folder": ""})
            process = subprocess.Popen(
                [sys.executable, "-c", begin, name, options], stderr=subprocess.DEVNULL
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            daemons.append(process)
        wait_until(lambda: len(list(tmp_path.glob("*.door"))) == 2)
        elsewhere = ("--home", str(tmp_path / "three"))
        assert "No daemon" in typed("daemon", "stop", *elsewhere).output
        shown = typed("daemon", "status", "--all", *elsewhere).output
        for name, process in zip(("one", "two"), daemons, strict=True):
            assert f"process {process.pid}" in shown
            assert str(tmp_path / name) in shown
        assert "without clients for" in shown
        stopped = typed("daemon", "stop", "--all", *elsewhere).output
        assert all(str(process.pid) in stopped for process in daemons)
        assert [process.wait(60) for process in daemons] == [0, 0]
        assert "No daemon" in typed("daemon", "status", "--all", *elsewhere).output
