"""How long a client waits for a server that it has just spawned: to `initialize`, to a first answer.

`python -m benchmarks.start [--quick]`. Beside Minutebook stand a server on the same SDK with one tool
that does nothing, which is the least that this SDK allows, and server-memory under node. The starts
of all are interleaved, so that what else the machine does meets each alike.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import peers
from benchmarks.measure import ROOT, NotThere, Table, asked, machine, publish
from benchmarks.pipe import Pipe
from benchmarks.tool import copied, filled, serve_command

FILLED, FILLED_QUICK = 1_000, 30


@dataclass(frozen=True, slots=True)
class Starter:
    """Something to start, and the first thing to ask of it."""

    name: str
    command: Sequence[str | Path]
    tool: str
    arguments: Mapping[str, object]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds since the spawn, and CPU milliseconds of the server until then."""

    initialized: float
    initialized_cpu: float
    answered: float
    answered_cpu: float


def start(starter: Starter) -> Start:
    """Start it once, ask, and let it end."""
    with Pipe(starter.command, **starter.variables) as pipe:
        pipe.initialize()
        initialized, initialized_cpu = time.perf_counter(), pipe.cpu()
        pipe.call(starter.tool, starter.arguments)
        answered, answered_cpu = time.perf_counter(), pipe.cpu()
        return Start(
            (initialized - pipe.started) * 1e3,
            initialized_cpu * 1e3,
            (answered - pipe.started) * 1e3,
            answered_cpu * 1e3,
        )


def starters(homes: Mapping[str, Path], scratch: Path, *, install: bool) -> list[Starter]:
    """Name what is started; a peer that is not there is left out, with the reason printed."""
    question = {"query": "which day is the meeting", "limit": 10}
    found = [
        Starter(f"minutebook, {name}", serve_command(home), "recall", question)
        for name, home in homes.items()
    ]
    return [*found, *beside(scratch, install=install)]


def beside(scratch: Path, *, install: bool) -> list[Starter]:
    """Name what stands beside Minutebook: the least that the SDK allows, and a peer if it is there."""
    bare = Starter(
        "bare SDK server", [sys.executable, ROOT / "benchmarks" / "bare.py"], "nothing", {}
    )
    try:
        command = peers.memory_server(install=install)
    except NotThere as reason:
        print(f"left out: {reason}")
        return [bare]
    file = {"MEMORY_FILE_PATH": str(scratch / "memory.jsonl")}
    asking = {"query": "meeting"}
    return [bare, Starter("server-memory, node", command, "search_nodes", asking, file)]


def measure(rounds: int, size: int, *, warm: int, install: bool) -> list[tuple[str | float, ...]]:
    """Start each in turn, `rounds` times after `warm` that are not counted; medians."""
    with tempfile.TemporaryDirectory() as scratch, copied(filled(size) / "home") as home:
        homes = {"empty store": Path(scratch) / "empty", f"{size} memories": home}
        all = starters(homes, Path(scratch), install=install)
        times: dict[str, list[Start]] = {starter.name: [] for starter in all}
        for number in range(warm + rounds):
            for starter in all:
                measured = start(starter)
                if number >= warm:
                    times[starter.name].append(measured)
    return [
        (
            name,
            statistics.median(each.initialized for each in starts),
            statistics.median(each.initialized_cpu for each in starts),
            statistics.median(each.answered for each in starts),
            statistics.median(each.answered_cpu for each in starts),
        )
        for name, starts in times.items()
    ]


def main() -> None:
    """Measure and publish."""
    given = asked("Measure the start of the server.").parse_args()
    rounds, size, warm = (1, FILLED_QUICK, 0) if given.quick else (9, FILLED, 1)
    method = {
        **machine(),
        "starts": f"{rounds} of each, interleaved, after {warm} that are not counted",
        "client": "JSON lines over a pipe, without a client library",
        "peers": peers.versions(),
        "times": "milliseconds since the spawn, medians; CPU of all threads of the server",
    }
    rows = measure(rounds, size, warm=warm, install=not given.quick)
    columns = ("what", "to initialize", "its CPU", "to first answer", "CPU to answer")
    note = "first answer: recall; the tool that does nothing; search_nodes on an empty file"
    publish("start", method, [Table("start", columns, rows, note)], quick=given.quick)


if __name__ == "__main__":
    main()
