"""A daemon that lives and does not answer, and one that is killed before it listens."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minutebook.serve import invocation
from minutebook.serve.daemon.rendezvous import DaemonAddress
from minutebook.serve.daemon.spawning import KILLS, StartFailed, start_and_connect
from minutebook.store.disk.filelock import FileLock
from tests.serve.daemon.test_process import CALL, WITHOUT, House, content, house_in, stored

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")

READ = {"name": "list_memories", "arguments": {}}
WRITE = {"name": "store_memory", "arguments": {"content": "again"}}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as one:
        yield one


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that is alive and does nothing."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_client_does_not_wait_for_ever_for_a_daemon_that_hangs(house: House) -> None:
    stored(house.client(), "before")
    pid = house.pid()
    house.set(serve__daemon__client__DAEMON_WAIT=3.0)
    with stopped(pid):
        pipe = house.spawn()
        assert pipe.handshake()["result"]["serverInfo"]
        pipe.send({**CALL, "id": "read", "params": READ})
        assert content(pipe.read())["total"] == 1
        said = house.said(pipe)
    assert WITHOUT in said
    assert b"has not answered for" in said
    if sys.platform == "linux":
        assert f"kill -9 {pid}".encode() in said


@pytest.mark.thorough
def test_what_a_daemon_left_unanswered_when_it_hung_is_read_again_and_never_written_twice(
    house: House,
) -> None:
    stored(house.client(), "before")
    house.set(serve__daemon__client__DAEMON_WAIT=3.0)
    reader, writer = house.client(), house.client()
    with stopped(house.pid()):
        reader.send({**CALL, "id": "read", "params": READ})
        writer.send({**CALL, "id": "write", "params": WRITE})
        assert content(reader.read())["total"] == 1
        assert "it is not known whether it was done" in writer.read()["error"]["message"]
        for pipe in (reader, writer):
            assert WITHOUT in house.said(pipe)
            assert b"no longer answers" in house.said(pipe)
        assert stored(writer, "on its own")


@pytest.mark.thorough
def test_a_slow_call_is_waited_for_while_the_daemon_says_how_it_is(house: House) -> None:
    stored(house.client(), "before")
    house.set(serve__daemon__client__DAEMON_WAIT=5.0)
    pipe = house.client()
    writing = FileLock(house.home / "minutebook.db-lock")
    writing.acquire(10.0)
    pipe.send({**CALL, "id": "write", "params": WRITE})
    # It looks each half second, and asks the daemon once it waited for five.
    time.sleep(6)
    writing.close()
    assert content(pipe.read())["id"]
    assert WITHOUT not in house.said(pipe)


def children() -> list[int]:
    """The processes that this one has started."""
    return [
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    ]


@pytest.mark.thorough
@pytest.mark.cold_start
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is used")
def test_daemons_that_are_killed_before_they_listen_are_given_up_on(house: House) -> None:
    asked = invocation.read(["serve", "--home", str(house.home)], house.environment)
    assert asked is not None
    before, killed = {*children()}, []

    def killing(place: DaemonAddress) -> None:
        for pid in {*children()} - before:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    with pytest.raises(StartFailed, match=f"{KILLS} were killed, the last by SIGKILL") as ended:
        start_and_connect(asked, house.place(), killing, lambda: True)
    assert len({*killed}) == KILLS
    assert not ended.value.is_invalid
