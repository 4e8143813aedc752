"""One caller's flood takes nobody else's service: floods of every kind against the calls of another token.

In the long form each of the other's calls is timed, on a server that has a core for itself, while the flood's
clients run on the other core. The times beside are of the same calls while the same clients flood a server
that does nothing (`floods.sink`), so that what is compared is the work of the server and not that of the clients.
The short form asserts what holds on any machine: every call of the other is answered, and the server stays bounded.
"""

import asyncio
import itertools
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.caller import Caller
from minutebook.record.records import Role
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.limits import CONNECTIONS
from tests.faults.campaign import LONG, report, rounds
from tests.faults.floods import ARE_REFUSED, AT_ONCE, KINDS, Target, Wire, message, words
from tests.features.http.speaking import Server, served, token
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are bound to cores")

MEMORIES = rounds(20, 1000)
EDGES = rounds(20, 300)
"""Relations of the entity that graph walks begin at."""
FILES = rounds(5, 300)
ROUNDS = rounds(1, 3)
CALLS = rounds(4, 100)
"""Of each of the three calls in a round, once without and once with the flood."""
PAUSE = rounds(0, 3) / 1000
SHORT = ("searches", "sessions")
LONGEST = 12.0
"""Seconds after which a round has timed enough, if it has fifteen calls of each."""

NUMBERS = itertools.count(10_000)

PROBES = ("search", "write", "ping")
Times = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class House:
    """A server, the folder and the entity that floods ask for, and whom they must not disturb."""

    home: Path
    server: Server
    folder: str
    hub: str
    other: Target

    def flooding(self, kind: str) -> Target:
        """The server as one meets it who has left no calls of another flood unanswered."""
        name = f"{kind} {next(NUMBERS)}"
        return Target(
            self.server.port, token(self.home, name, Role.HUMAN).secret, self.folder, self.hub
        )


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home, folder = (tmp_path_factory.mktemp(name) for name in ("flooded", "project"))
    for number in range(FILES):
        lines = "\n".join(f"def f{each}():\n    return {each}\n" for each in range(40))
        (folder / f"m{number}.py").write_text(f"# {number}\n{lines}")
    (home / "config.toml").write_text(f'[index_roots]\nacme = ["{folder}"]\n')
    other = token(home, "other", Role.HUMAN).secret
    hub = filled(home)
    with served(home, "--ui", MINUTEBOOK_RATE_LIMIT="0") as server:
        if LONG:
            bind(server.process.pid, core=1)
            bind(os.getpid(), core=0)
            with suppress(PermissionError):
                # It does little, and is to see an answer when it comes, whatever else runs on the core.
                at_once = os.SCHED_RR | os.SCHED_RESET_ON_FORK
                os.sched_setscheduler(0, at_once, os.sched_param(1))
        yield House(home, server, str(folder), hub, Target(server.port, other))


def filled(home: Path) -> str:
    """Fill a store; the id of its entity with most relations."""
    app = open_app(settings_with(home=home, embedder="none", durability="normal"))
    caller = Caller(name="root", role=Role.HUMAN, organization="acme")

    def call(tool: str, **arguments: Any) -> Any:
        answer = knowledge().call(app, caller, tool, arguments)
        assert answer.error is None, answer
        return answer.content

    for number in range(MEMORIES):
        call("store_memory", content=words(60, number))
    hub = call("create_entity", name="hub", entity_type="thing")
    for number in range(EDGES):
        spoke = call("create_entity", name=f"spoke {number}", entity_type="thing")
        call("create_relation", from_entity=hub["id"], to_entity=spoke["id"], relation_type="has")
    app.close()
    return str(hub["id"])


def bind(pid: int, core: int) -> None:
    """Give a process and its threads a core, and precedence over what else runs on the machine."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})
    with suppress(OSError):
        # What Linux shares out is first of all between sessions; the flood's clients have their own.
        Path(f"/proc/{pid}/autogroup").write_text("-10")


@pytest.fixture(scope="module")
def sink() -> Iterator[tuple[int, int]]:
    """The port and process of a server that does nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        code = f"import asyncio, os, socket; from tests.faults.floods import sink; {'os.sched_setaffinity(0, {0});' if LONG else ''} asyncio.run(sink(socket.socket(fileno={listener.fileno()})))"
        process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[listener.fileno()], start_new_session=True
        )
        yield listener.getsockname()[1], process.pid
        process.kill()
        process.wait()


@contextmanager
def flood(kind: str, target: Target, pid: int) -> Iterator[Counter[str]]:
    """Flood a server, which is this process, from another one, once half the tasks have come, until they have gone.

    Then what is yielded tells how many requests were answered and refused.
    """
    before, answers = sockets(pid), Counter[str]()
    core = "0" if LONG else "-1"
    command = [sys.executable, "-m", "tests.faults.floods", kind, core, json.dumps(asdict(target))]
    process = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        wait_until(lambda: sockets(pid) >= before + AT_ONCE // 2)
        time.sleep(1.0 if LONG else 0.0)
        yield answers
        assert process.poll() is None, "the flood has ended by itself"
        process.terminate()
        _, told = process.communicate(timeout=30)
        answers.update(json.loads(told))
    finally:
        process.kill()
        process.wait()
        # Its connections would be counted with those of the next flood.
        wait_until(lambda: sockets(pid) <= before + AT_ONCE // 4)


def requests(target: Target, number: int) -> dict[str, bytes]:
    """The calls of the one who must not be disturbed."""
    path = "/mcp/knowledge"
    return {
        "search": target.call(path, "search_text", query=words(4, number), limit=10),
        "write": target.call(path, "store_memory", content=words(40, number)),
        "ping": target.request(path, message("ping"), Accept="application/json"),
    }


async def timed(house: House, numbers: Iterator[int]) -> list[tuple[str, float]]:
    """Make CALLS of each kind: which, and its milliseconds.

    A call whose connection is cut is made again, in the same time. Fails if one is refused.
    """
    taken: list[tuple[str, float]] = []
    wire = await Wire.open(house.other)
    end = time.monotonic() + LONGEST
    for count in range(CALLS):
        if time.monotonic() > end and count >= 15:
            break
        for probe, request in requests(house.other, next(numbers)).items():
            began = time.perf_counter()
            wire = await answered(house.other, wire, request)
            taken.append((probe, 1e3 * (time.perf_counter() - began)))
            await asyncio.sleep(PAUSE)
    wire.close()
    return taken


async def answered(target: Target, wire: Wire, request: bytes) -> Wire:
    """Ask until there is an answer, over this connection or a new one; the connection that was used."""
    while True:
        try:
            status, _, body = await asyncio.wait_for(wire.ask(request), 60)
        except (OSError, EOFError):
            wire.close()
            with suppress(OSError):
                wire = await Wire.open(target)
            continue
        assert status == 200, (status, body[:300])
        assert b'"isError":true' not in body, body[:300]
        assert b'"error"' not in body, body[:300]
        return wire


def p99(times: Sequence[float]) -> float:
    return sorted(times)[math.ceil(0.99 * len(times)) - 1]


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, by the clock that clock_getcpuclockid(3) names."""
    return time.clock_gettime((~pid << 3) | 2)


def sockets(pid: int) -> int:
    """How many sockets a process has open."""
    count = 0
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            count += str(each.readlink()).startswith("socket:")
    return count


class Figures:
    """The milliseconds of the calls beside one kind of flood."""

    def __init__(self) -> None:
        self.rounds: list[tuple[Times, Times]] = []

    def add(self, idle: Sequence[tuple[str, float]], busy: Sequence[tuple[str, float]]) -> None:
        """Take in a round."""
        idle_times, busy_times = (
            {probe: [took for each, took in times if each == probe] for probe in PROBES}
            for times in (idle, busy)
        )
        self.rounds.append((idle_times, busy_times))

    def told(self) -> dict[str, float]:
        """The figures of a row: the ratio is the median of those of the rounds."""
        told: dict[str, float] = {}
        for probe in PROBES:
            idle, busy = (
                [t for each in self.rounds for t in each[which][probe]] for which in (0, 1)
            )
            told[f"{probe} calls"] = len(busy)
            told[f"{probe} p50"], told[f"{probe} p99"] = statistics.median(busy), p99(busy)
            told[f"{probe} idle p50"], told[f"{probe} idle"] = statistics.median(idle), p99(idle)
            ratios = [p99(each[1][probe]) / p99(each[0][probe]) for each in self.rounds]
            told[f"{probe} ratio"] = statistics.median(ratios)
        return {name: round(figure, 2) for name, figure in told.items()}


@pytest.mark.parametrize("kind", KINDS if LONG else SHORT)
def test_a_flood_takes_nobody_elses_service(kind: str, house: House, sink: tuple[int, int]) -> None:
    pid, figures = house.server.process.pid, Figures()
    flooded, flooding = Counter[str](), house.flooding(kind)
    for _ in range(ROUNDS):
        idle: list[tuple[str, float]] = []
        if LONG:
            with flood(kind, replace(flooding, port=sink[0]), sink[1]):
                idle = asyncio.run(timed(house, NUMBERS))
        with flood(kind, flooding, pid) as answers:
            busy = asyncio.run(timed(house, NUMBERS))
        flooded += answers
        assert sockets(pid) < CONNECTIONS + 20
        if LONG:
            figures.add(idle, busy)
        settle(pid)
    assert kind in ARE_REFUSED or flooded["answered"] >= flooded["refused"], flooded
    if LONG:
        report("floods", kind, **figures.told(), **flooded)


def settle(pid: int) -> None:
    """Wait until the server has ended what the flood left behind, which the next time must not bear."""
    quiet = 0
    for _ in range(100):
        before = cpu_of(pid)
        time.sleep(0.1)
        quiet = quiet + 1 if cpu_of(pid) - before < 0.03 else 0
        if quiet >= 3:
            return
