"""The daemon as clients meet it: real processes, started, shared, killed and replaced."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from minutebook.serve import invocation
from minutebook.serve.daemon import client as daemon_client
from minutebook.serve.daemon.rendezvous import (
    DaemonAddress,
    all_of_this_user,
    daemon_address,
    folder,
)
from tests.constants import with_constants
from tests.features.catalog.test_stdio import POLICY
from tests.line_client import LineClient
from tests.serve.stdio.speaking import INITIALIZE
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and /proc are used")

WITHOUT = b"serving without the daemon"
CALL: dict[str, Any] = {"jsonrpc": "2.0", "method": "tools/call"}


class House:
    """A data directory, its clients and its daemons."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home
        self._stack = stack
        self._stderrs: dict[LineClient, Path] = {}
        self.variables = {"MINUTEBOOK_DAEMON": "on", "MINUTEBOOK_EMBEDDER": "none"}

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables}

    def set(self, **constants: object) -> None:
        """Have processes that are started from now on run with these values, as `with_constants` takes them."""
        self.variables |= with_constants(self.home.parent, **constants)

    def place(self) -> DaemonAddress:
        """Where the daemon of its clients is."""
        typed = invocation.read(["serve", "--home", str(self.home)], self.environment)
        assert typed is not None
        return daemon_address(typed.address)

    def spawn(self, *options: str) -> LineClient:
        said = self.home.parent / f"stderr-{len(self._stderrs)}"
        with said.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "minutebook", "serve", "--home", str(self.home), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=self.environment,
            )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        pipe = LineClient(process)
        self._stderrs[pipe] = said
        return pipe

    def client(self, *options: str) -> LineClient:
        """A client that has shaken hands."""
        pipe = self.spawn(*options)
        assert pipe.handshake("2025-06-18")["result"]["serverInfo"]
        attached(pipe)
        return pipe

    def said(self, pipe: LineClient) -> bytes:
        """What a client's server has written to stderr."""
        return self._stderrs[pipe].read_bytes()

    def daemons(self) -> list[dict[str, Any]]:
        """What this home's daemons say of themselves; the user's others, some of them stopped, are not asked."""
        own = (each for each in all_of_this_user() if self._is_own(each))
        said = [daemon_client.ask(each, "status") for each in own]
        return [each for each in said if each is not None]

    def _is_own(self, daemon: DaemonAddress) -> bool:
        """Tell whether a process that holds the daemon's lock has files of this home open."""
        home = os.path.realpath(self.home)
        return any(name.startswith(home) for pid in holders(daemon.lock) for name in opened_by(pid))

    def pid(self) -> int:
        """The process of the one daemon."""
        told = self.daemons()
        assert len(told) == 1, [self.said(pipe).decode() for pipe in self._stderrs]
        return int(told[0]["pid"])


def holders(lock: str) -> set[str]:
    """The processes that hold a lock's file locked."""
    try:
        file = f":{Path(lock).stat().st_ino}"
    except FileNotFoundError:
        return set()
    held = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return {words[4] for words in held if len(words) > 5 and words[5].endswith(file)}


def opened_by(pid: str) -> Iterator[str]:
    """The paths of the files that a process has open; none if it has ended."""
    with suppress(FileNotFoundError):
        for each in Path(f"/proc/{pid}/fd").iterdir():
            # It may be closed by now.
            with suppress(FileNotFoundError):
                yield os.readlink(each)  # noqa: PTH115 - no path where it is a socket


@contextmanager
def house_in(folder: Path) -> Iterator[House]:
    """A house whose processes are gone in the end."""
    with ExitStack() as stack:
        one = House(folder / "a home", stack)
        yield one
        for told in one.daemons():
            os.kill(told["pid"], signal.SIGKILL)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as one:
        yield one


def attached(pipe: LineClient) -> None:
    """Wait until a client is served by more than its proxy."""
    pipe.send({"jsonrpc": "2.0", "id": "attached", "method": "no/such/method"})
    assert pipe.read()["id"] == "attached"


def content(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["result"]["structuredContent"]
    return found


def stored(pipe: LineClient, text: str) -> str:
    id: str = content(pipe.call("store_memory", content=text))["id"]
    return id


def kept(pipe: LineClient) -> set[str]:
    return {each["content"] for each in content(pipe.call("list_memories", limit=100))["memories"]}


def is_read(pipe: LineClient) -> bool:
    """Tell whether a client's server has read all that it was sent."""
    import fcntl
    import termios

    assert pipe.process.stdin is not None
    left = fcntl.ioctl(pipe.process.stdin, termios.FIONREAD, bytes(4))
    return not any(left)


def killed(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid))


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists() if Path("/proc").exists() else not _signals(pid)


def _signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.thorough
@pytest.mark.cold_start
def test_clients_share_one_daemon_and_one_store(house: House) -> None:
    one, other = house.client(), house.client()
    stored(one, "The kettle is in the attic.")
    assert kept(other) == {"The kettle is in the attic."}
    assert [each["clients"] for each in house.daemons()] == [2]
    assert WITHOUT not in house.said(one) + house.said(other)


def test_each_call_is_a_line_of_the_daemons_log_and_none_of_the_clients(house: House) -> None:
    pipe = house.client()
    stored(pipe, "The kettle is in the attic.")
    lines = (house.home / "daemon.log").read_text()
    assert re.search(r" INFO \S+: knowledge store_memory: ok in [\d.]+ ms, client '.+' \[", lines)
    assert "kettle" not in lines
    assert house.said(pipe) == b""


def test_clients_that_start_at_once_get_one_daemon(house: House) -> None:
    pipes = [house.spawn() for _ in range(8)]
    for number, pipe in enumerate(pipes):
        pipe.send({**INITIALIZE, "id": number})
    for number, pipe in enumerate(pipes):
        assert pipe.read()["id"] == number
        attached(pipe)
    assert [each["clients"] for each in house.daemons()] == [8]
    assert not any(WITHOUT in house.said(pipe) for pipe in pipes)


def test_each_connection_has_an_identity_and_contracts_of_its_own(house: House) -> None:
    acme = house.client("--organization", "acme")
    other = house.client("--organization", "other", "--role", "viewer")
    catalog = house.client("catalog", "--tool-names", "safe")
    stored(acme, "what only acme knows")
    assert kept(acme) == {"what only acme knows"}
    assert kept(other) == set()
    assert other.call("store_memory", content="a viewer writes")["result"]["isError"]
    catalog.send({"jsonrpc": "2.0", "id": 9, "method": "tools/list"})
    assert "memory_write" in {tool["name"] for tool in catalog.read()["result"]["tools"]}
    assert len(house.daemons()) == 1


def test_a_client_with_other_settings_is_served_without_the_daemon_and_told(house: House) -> None:
    one = house.client()
    house.variables["MINUTEBOOK_DURABILITY"] = "normal"
    other = house.client()
    assert [each["clients"] for each in house.daemons()] == [1]
    assert b"it was started with another durability\n" in house.said(other)
    stored(one, "by the daemon")
    stored(other, "beside it")
    assert kept(one) == kept(other) == {"by the daemon", "beside it"}


def test_a_client_in_another_folder_means_the_same_by_a_path(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = house.client()
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    house.home = Path("..", house.home.name)
    second = house.client()
    stored(first, "by the daemon")
    assert kept(second) == {"by the daemon"}
    assert [each["clients"] for each in house.daemons()] == [2]


@pytest.mark.needs("ledger")
def test_a_daemon_does_not_serve_who_has_another_secret(house: House) -> None:
    house.client()
    house.variables["AGENT_MEMORY_SECRET"] = "open sesame, said the admin"
    other = house.client("ledger", "--role", "admin")
    assert len(house.daemons()) == 1
    assert b"another agent_memory_secret" in house.said(other)
    assert b"sesame" not in house.said(other)


def test_who_wants_none_is_served_without(house: House) -> None:
    one = house.client("--no-daemon")
    stored(one, "by hand")
    (house.home / "config.toml").write_text('daemon = "off"\n')
    house.variables["MINUTEBOOK_DAEMON"] = ""
    other = house.client()
    assert kept(other) == {"by hand"}
    assert house.daemons() == []
    assert WITHOUT not in house.said(other)


def test_where_no_daemon_can_be_started_the_client_is_served_and_told(house: House) -> None:
    door = Path(house.place().socket.path)
    door.mkdir()
    try:
        pipe = house.client()
        stored(pipe, "kept all the same")
        assert kept(pipe) == {"kept all the same"}
        assert WITHOUT in house.said(pipe)
        # Both say why: with what the daemon said last.
        assert b"door" in house.said(pipe).split(WITHOUT)[1]
        assert WITHOUT in (house.home / "daemon.log").read_bytes()
    finally:
        door.rmdir()


def test_what_cannot_be_cleared_away_keeps_no_other_daemon_from_starting(house: House) -> None:
    other = DaemonAddress(folder(), "0000000g")
    Path(other.lock).touch()
    stray = Path(other.socket.path)
    stray.mkdir()
    try:
        pipe = house.client()
        assert house.pid() != pipe.process.pid
        assert WITHOUT not in house.said(pipe)
    finally:
        stray.rmdir()
        Path(other.lock).unlink(missing_ok=True)


def test_a_killed_daemon_is_replaced_and_nothing_is_lost(house: House) -> None:
    pipe = house.client()
    stored(pipe, "before")
    first = house.pid()
    killed(first)
    stored(pipe, "after")
    assert kept(pipe) == {"before", "after"}
    assert house.pid() != first
    assert WITHOUT not in house.said(pipe)


def test_what_a_killed_daemon_left_unanswered_is_asked_again_only_where_it_reads(
    house: House,
) -> None:
    pipe = house.client()
    stored(pipe, "before")
    first = house.pid()
    os.kill(first, signal.SIGSTOP)
    write = {"name": "store_memory", "arguments": {"content": "nobody knows"}}
    read = {"name": "list_memories", "arguments": {}}
    pipe.send({**CALL, "id": "write", "params": write})
    wait_until(lambda: is_read(pipe))
    pipe.send({**CALL, "id": "read", "params": read})
    pipe.send({"jsonrpc": "2.0", "id": "tools", "method": "tools/list"})
    # Who has read the next line has passed the one before.
    wait_until(lambda: is_read(pipe))
    os.kill(first, signal.SIGKILL)
    told = {answer["id"]: answer for answer in (pipe.read() for _ in range(3))}
    assert "store_memory was under way" in told["write"]["error"]["message"]
    assert content(told["read"])["total"] == 1
    assert told["tools"]["result"]["tools"]


@pytest.mark.thorough
def test_every_write_that_was_acknowledged_survives_kills_mid_write(house: House) -> None:
    pipe = house.client()
    acknowledged, said = set[str](), 0
    for _ in range(3):
        for _ in range(20):
            said += 1
            write = {"name": "store_memory", "arguments": {"content": f"fact {said}"}}
            pipe.send({**CALL, "id": said, "params": write})
        answer = pipe.read()
        os.kill(house.pid(), signal.SIGKILL)
        answers = [answer, *(pipe.read() for _ in range(19))]
        acknowledged |= {f"fact {each['id']}" for each in answers if "result" in each}
        unknown = [each["error"]["message"] for each in answers if "error" in each]
        assert all("not known whether" in each for each in unknown)
    found = kept(pipe)
    assert acknowledged <= found
    assert len(found) <= said


@pytest.mark.thorough
def test_a_daemon_that_ends_again_and_again_is_not_relied_on(house: House) -> None:
    pipe = house.client()
    for _ in range(daemon_client.MOST_LOSSES + 1):
        killed(house.pid())
        stored(pipe, "and again")
    assert house.daemons() == []
    assert WITHOUT in house.said(pipe)
    assert content(pipe.call("list_memories"))["total"] == daemon_client.MOST_LOSSES + 1


def test_a_subscription_outlives_the_daemon(house: House) -> None:
    pipe, other = house.client("catalog"), house.client("catalog")
    pipe.send(
        {
            "jsonrpc": "2.0",
            "id": "watch",
            "method": "resources/subscribe",
            "params": {"uri": "memory://index"},
        }
    )
    assert pipe.read()["id"] == "watch"
    first = house.pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: bool(house.daemons()) and house.pid() != first)
    # Nobody watched meanwhile, so the client is told to read again, and then of what changes.
    assert pipe.read()["params"] == {"uri": "memory://index"}
    told = other.call("memory-write", **POLICY)
    assert not told["result"]["isError"], told
    assert pipe.read()["method"].startswith("notifications/resources/")


def test_a_daemon_without_clients_ends_and_leaves_nothing(house: House) -> None:
    house.set(serve__daemon__process__IDLE=0.1)
    pipe = house.client()
    pid = house.pid()
    pipe.process.kill()
    wait_until(lambda: is_gone(pid))
    assert not Path(house.place().socket.path).exists()
    assert not Path(house.place().lock).exists()


HELLOS = [
    b"7",
    b"[1]",
    b"no JSON",
    b"[" * 5000 + b"]" * 5000,
    b"{}",
    b'{"version": 7, "given": 8}',
    b'{"version": "0.1.0"}',
    b'{"version": "0.1.0", "given": [], "variables": {}, "contracts": [], "session": "", "folder": ""}',
    b'{"version": "0.1.0", "given": {}, "variables": {}, "contracts": [1], "session": "", "folder": ""}',
    b'{"version": "0.1.0", "given": {}, "variables": {}, "contracts": [], "session": ""}',
    b'{"version": "0.1.0", "given": {}, "variables": {}, "contracts": [], "session": "\\u0000", "folder": ""}',
]


def test_a_guest_that_says_what_no_proxy_does_is_sent_away(house: House) -> None:
    pipe = house.client()
    for hello in HELLOS:
        with house.place().socket.connect(60) as guest:
            guest.sendall(hello + b"\n")
            heard = guest.recv(65536)
        assert heard == b"" or "refused" in json.loads(heard), hello
        assert "Traceback" not in (house.home / "daemon.log").read_text(), hello
        assert stored(pipe, f"still here after {hello[:100]!r}")


def test_contracts_that_cannot_be_served_together_are_said_once_and_in_words(house: House) -> None:
    pipe = house.spawn("catalog", "governance")
    assert pipe.process.wait(60) == 1
    said = house.said(pipe)
    assert said.startswith(b"minutebook: CONTRACT must not name both catalog and governance")
    assert said.count(b"\n") == 1


def test_what_a_killed_daemon_left_is_cleared_away_by_the_next(house: House) -> None:
    pipe = house.client()
    dead = house.place()
    pipe.process.kill()
    killed(house.pid())
    house.home = house.home.with_name("another home")
    house.client()
    # The daemons of other tests clear away too, and may have been first, or be at it now.
    wait_until(lambda: not Path(dead.socket.path).exists() and not Path(dead.lock).exists())
    assert Path(house.place().lock).exists()


def test_a_daemon_whose_home_is_removed_ends(house: House) -> None:
    pipe = house.client()
    stored(pipe, "soon gone")
    pid = house.pid()
    shutil.rmtree(house.home)
    wait_until(lambda: is_gone(pid))
    stored(pipe, "in a new home")
    assert kept(pipe) == {"in a new home"}


@pytest.mark.thorough
def test_a_daemon_told_to_stop_answers_first_and_clients_go_on(house: House) -> None:
    def command(*words: str) -> str:
        program = [sys.executable, "-m", "minutebook", "daemon", *words, "--home", str(house.home)]
        done = subprocess.run(program, capture_output=True, check=True, env=house.environment)
        return done.stdout.decode()

    assert "No daemon" in command("status")
    pipe = house.client()
    pid = house.pid()
    assert json.loads(command("status", "--json"))[0]["clients"] == 1
    assert str(pid) in command("stop")
    wait_until(lambda: is_gone(pid))
    assert "No daemon" in command("stop")
    assert "ready" in command("restart")
    second = house.pid()
    stored(pipe, "gone on")
    assert house.pid() == second


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, None])
def test_the_end_of_a_client_is_not_the_daemons(
    house: House, ending: signal.Signals | None
) -> None:
    pipe = house.client()
    stored(pipe, "said and done")
    if ending is None:
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
    else:
        pipe.process.send_signal(ending)
    assert pipe.process.wait(timeout=60) == 0
    assert pipe.process.stdout is not None
    assert pipe.process.stdout.read() == b""
    wait_until(lambda: [each["clients"] for each in house.daemons()] == [0])


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_that_is_sent_a_signal_ends_cleanly(house: House, ending: signal.Signals) -> None:
    pipe = house.client()
    stored(pipe, "before")
    pid = house.pid()
    os.kill(pid, ending)
    wait_until(lambda: is_gone(pid))
    assert not Path(house.place().socket.path).exists()
    assert kept(pipe) == {"before"}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_goes_on_after_a_kill(house: House, mode: Any) -> None:
    async def talk() -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "minutebook", "serve", "--home", str(house.home)],
            env={"MINUTEBOOK_EMBEDDER": "none"},
        )
        async with Client(server, mode=mode) as client:
            await client.call_tool("store_memory", {"content": "hello"})
            (told,) = house.daemons()
            os.kill(told["pid"], signal.SIGKILL)
            found = await client.call_tool("search_text", {"query": "hello"})
            assert found.structured_content["count"] == 1

    anyio.run(talk)


HEAVY = {
    "asyncio",
    "dataclasses",
    "inspect",
    "logging",
    "pathlib",
    "subprocess",
    "typing",
    "tomllib",
}

LIGHT = {
    "minutebook",
    "minutebook.__main__",
    "minutebook.serve.invocation",
    "minutebook.serve",
    "minutebook.serve.daemon",
    "minutebook.serve.daemon.client",
    "minutebook.serve.daemon.sockets",
    "minutebook.serve.daemon.rendezvous",
    "minutebook.serve.protocol",
    "minutebook.serve.protocol.methods",
    "minutebook.serve.stdio",
    "minutebook.serve.stdio.proxy",
}


@pytest.mark.thorough
@pytest.mark.cold_start
def test_a_client_of_a_running_daemon_imports_next_to_nothing(house: House) -> None:
    house.client()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "minutebook", "serve", "--home", house.home],
        input=json.dumps(INITIALIZE).encode() + b"\n",
        capture_output=True,
        env=house.environment,
        timeout=60,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]
    told = (line.split("|")[-1].strip() for line in done.stderr.decode().splitlines())
    loaded = {name for name in told if name and name != "imported package"}
    ours = {name for name in loaded if name.split(".")[0] == "minutebook"}
    assert ours | {"minutebook.__main__"} == LIGHT
    assert not loaded & HEAVY
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert foreign <= {"minutebook", "sitecustomize", "usercustomize", "_distutils_hack"}
