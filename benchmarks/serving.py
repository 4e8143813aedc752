"""How soon a server that was just spawned answers, alone and eight at once, with and without the daemon.

`python -m benchmarks.serving [--quick]`. Beside Minutebook stand a server on the same SDK with one tool
that does nothing, which is the least that this SDK allows, and server-memory under node. The starts
of all are interleaved, so that what else the machine does meets each alike.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import peers, serving_load, start
from benchmarks.measure import Table, asked, cpu_seconds, machine, pss, publish
from benchmarks.pipe import Pipe
from minutebook.serve import invocation
from minutebook.serve.daemon import client
from minutebook.serve.daemon.rendezvous import DaemonAddress, daemon_address
from tests.constants import with_constants

AT_ONCE, AT_ONCE_QUICK = 8, 2
SERVE = ("-P", "-m", "minutebook", "serve", "--home")


def nothing() -> None:
    """Prepare nothing."""


def none() -> int | None:
    """Name no process that works for several clients."""
    return None


@dataclass(frozen=True, slots=True)
class Starter(start.Starter):
    """What is done before it is started, and the process that works for it besides (`shared`)."""

    before: Callable[[], object] = nothing
    shared: Callable[[], int | None] = none


@dataclass(frozen=True, slots=True)
class House:
    """A data directory and the daemon that serves it."""

    home: Path

    @property
    def place(self) -> DaemonAddress:
        """Where its daemon is."""
        found = invocation.read(["serve", "--home", str(self.home)], os.environ)
        assert found is not None
        return daemon_address(found.address)

    def stop(self) -> None:
        """End the daemon."""
        client.stop(self.place)

    def pid(self) -> int | None:
        """Name the daemon's process, if there is one."""
        told = client.ask(self.place, "status")
        return None if told is None else int(str(told["pid"]))


def starters(scratch: Path, stack: ExitStack, *, install: bool) -> list[Starter]:
    """Name what is started; a peer that is not there is left out, with the reason printed."""
    question = {"query": "which day is the meeting", "limit": 10}
    alone, cold, warm = (House(scratch / name) for name in ("alone", "cold", "warm"))
    for house in (alone, cold, warm):
        house.home.mkdir()
        stack.callback(house.stop)
    program = sys.executable
    # Eight models that are loaded at once on two cores take their time.
    patient = with_constants(scratch, memory__embeddings__EMBEDDING_WAIT=300.0)
    found = [
        Starter(
            "minutebook, in process",
            [program, *SERVE, alone.home, "--no-daemon"],
            "recall",
            question,
            patient,
        ),
        Starter(
            "minutebook, daemon cold",
            [program, *SERVE, cold.home],
            "recall",
            question,
            patient,
            before=cold.stop,
            shared=cold.pid,
        ),
        Starter(
            "minutebook, daemon warm",
            [program, *SERVE, warm.home],
            "recall",
            question,
            patient,
            shared=warm.pid,
        ),
    ]
    others = start.beside(scratch, install=install)
    return [
        *found,
        *(Starter(o.name, o.command, o.tool, o.arguments, o.variables) for o in others),
    ]


@dataclass(frozen=True, slots=True)
class Handshake:
    """Milliseconds from the spawn to the `initialize` answer, and CPU milliseconds until then.

    `answered` are those to the answer to a first call, which a daemon that starts cannot hide.
    """

    wall: float
    answered: float
    cpu: float
    shared_cpu: float


def handshake(starter: Starter) -> Handshake:
    """Start it once, shake hands, ask once, and let it end."""
    starter.before()
    running = starter.shared()
    used = 0.0 if running is None else cpu_seconds(running)
    with Pipe(starter.command, **starter.variables) as pipe:
        pipe.initialize()
        wall, cpu = time.perf_counter() - pipe.started, pipe.cpu()
        now = starter.shared()
        shared = 0.0 if now is None else cpu_seconds(now) - (used if now == running else 0.0)
        pipe.call(starter.tool, starter.arguments)
        answered = time.perf_counter() - pipe.started
    return Handshake(wall * 1e3, answered * 1e3, cpu * 1e3, shared * 1e3)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Seconds until all of some clients had shaken hands, and had a first answer; MB of all."""

    initialized: float
    answered: float
    memory: float


def crowd(starter: Starter, count: int) -> Crowd:
    """Start several at once, and ask each once."""
    starter.before()
    began = time.perf_counter()
    with ExitStack() as stack:
        pipes = [
            stack.enter_context(Pipe(starter.command, **starter.variables)) for _ in range(count)
        ]
        _together(pipes, Pipe.initialize)
        initialized = time.perf_counter() - began
        _together(pipes, lambda pipe: pipe.call(starter.tool, starter.arguments))
        answered = time.perf_counter() - began
        shared = starter.shared()
        processes = [*(pipe.pid for pipe in pipes), *([shared] if shared is not None else [])]
        return Crowd(initialized, answered, sum(map(pss, processes)))


def _together(pipes: Sequence[Pipe], ask: Callable[[Pipe], object]) -> None:
    """Let all ask at the same time, and wait for all."""
    with ThreadPoolExecutor(len(pipes)) as pool:
        list(pool.map(ask, pipes))


def measure(rounds: int, at_once: int, *, warm: int, install: bool) -> list[Table]:
    """Start each in turn, `rounds` times after `warm` that are not counted; medians."""
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        all = starters(Path(scratch), stack, install=install)
        hands: dict[str, list[Handshake]] = {starter.name: [] for starter in all}
        crowds: dict[str, list[Crowd]] = {starter.name: [] for starter in all}
        for number in range(warm + rounds):
            for starter in all:
                measured = handshake(starter)
                if number >= warm:
                    hands[starter.name].append(measured)
        for _ in range(max(1, rounds // 3)):
            for starter in all:
                crowds[starter.name].append(crowd(starter, at_once))
    return [_hands(hands), _crowds(crowds, at_once)]


def _hands(found: Mapping[str, Sequence[Handshake]]) -> Table:
    bare = statistics.median(each.cpu for each in found["bare SDK server"])
    rows = [
        (
            name,
            statistics.median(each.wall for each in times),
            min(each.wall for each in times),
            statistics.median(each.answered for each in times),
            statistics.median(each.cpu for each in times),
            statistics.median(each.cpu for each in times) / bare,
            statistics.median(each.shared_cpu for each in times),
        )
        for name, times in found.items()
    ]
    columns = ("what", "wall", "least", "first call", "CPU", "× bare SDK's CPU", "daemon's CPU")
    note = (
        "milliseconds from the spawn to the answers to initialize and a first call; CPU of the spawned "
        "process until the former"
    )
    return Table("handshake", columns, rows, note)


def _crowds(found: Mapping[str, Sequence[Crowd]], at_once: int) -> Table:
    rows = [
        (
            name,
            statistics.median(each.initialized for each in times),
            statistics.median(each.answered for each in times),
            statistics.median(each.memory for each in times),
        )
        for name, times in found.items()
    ]
    columns = ("what", "all initialized", "all answered", "MB (PSS)")
    note = "seconds from the first spawn; first answer: recall, nothing, search_nodes"
    return Table(f"{at_once} clients at once", columns, rows, note)


def main() -> None:
    """Measure and publish."""
    given = asked("Measure the start of servers, with and without the daemon.").parse_args()
    rounds, at_once, warm = (1, AT_ONCE_QUICK, 0) if given.quick else (9, AT_ONCE, 1)
    method = {
        **machine(),
        "starts": f"{rounds} of each, interleaved, after {warm} that are not counted; "
        f"{max(1, rounds // 3)} of {at_once} at once",
        "client": "JSON lines over a pipe, without a client library",
        "peers": peers.versions(),
        "times": "medians",
    }
    tables = measure(rounds, at_once, warm=warm, install=not given.quick)
    tables += serving_load.tables(
        quick=given.quick, minutes=serving_load.QUICK_MINUTES if given.quick else 1.0
    )
    publish("serving", method, tables, quick=given.quick)


if __name__ == "__main__":
    main()
