"""What serving over HTTP costs: a call beside the same call in process, many at once, for a long time.

`python -m benchmarks.serving_load [--quick] [--minutes N]`. Each server works on a copy of a store of
1,000 memories. Beside it stands a server on the same SDK with one tool that does nothing, served as
the SDK serves it. Requests are of the revision without sessions and go over kept connections.
"""

import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.http_client import Served, Wire, served
from benchmarks.measure import (
    Table,
    Timing,
    apart,
    asked,
    machine,
    pss,
    publish,
    timed_in_turn,
)
from benchmarks.pipe import Pipe
from benchmarks.tool import Caller, Work, copied, drawn, filled, serve_command
from minutebook.app import open_app
from minutebook.config import settings_with

SIZE, SIZE_QUICK = 1_000, 30
CONNECTIONS, CONNECTIONS_QUICK = (1, 8, 64), (2,)
MIXED = 8
QUICK_MINUTES = 0.01
BARE = "bare SDK server: nothing"

Row = tuple[str | int | float | None, ...]


def bare() -> list[str | Path]:
    """Return the command of the least server."""
    return [sys.executable, "-m", "benchmarks.bare_http", "PORT"]


@contextmanager
def without_model(size: int = SIZE) -> Iterator[Path]:
    """Return a copy of a store of so many memories whose servers load no model."""
    with copied(filled(size) / "home") as home:
        (home / "config.toml").write_text('embedder = "none"\n', encoding="utf-8")
        yield home


def over_http(home: Path) -> list[str | Path]:
    """Return the command that serves a home over HTTP."""
    return [*serve_command(home), "--http", "127.0.0.1:PORT"]


# A call, and what is around it


def overhead(rounds: int, size: int) -> list[Row]:
    """Time calls in process, over stdio and over HTTP, in turn; the model is switched off."""
    work = drawn(rounds)
    with ExitStack() as stack:
        homes = [stack.enter_context(without_model(size)) for _ in range(3)]
        settings = settings_with(home=homes[0], embedder="none")
        app = open_app(settings)
        stack.callback(app.close)
        inside = Caller(app, settings)
        pipe = stack.enter_context(Pipe(serve_command(homes[1])))
        pipe.initialize()
        server = stack.enter_context(served(over_http(homes[2])))
        runner = stack.enter_context(asyncio.Runner())
        wire = runner.run(Wire.open(server))
        stack.callback(wire.close)
        runner.run(wire.ask(server.call("list_memories", {"limit": 1})))
        rows: list[Row] = []
        for tool, arguments in calls(work).items():

            def within(number: int, tool: str = tool, given: Given = arguments) -> None:
                inside(tool, given(number))

            def piped(number: int, tool: str = tool, given: Given = arguments) -> None:
                pipe.call(tool, given(number))

            def posted(number: int, tool: str = tool, given: Given = arguments) -> None:
                runner.run(wire.ask(server.call(tool, given(number))))

            timings = timed_in_turn(
                {
                    "in process": (within, time.process_time),
                    "over stdio": (piped, pipe.cpu),
                    "over HTTP": (posted, server.cpu),
                },
                rounds,
            )
            rows += _beside(tool, timings)
    return rows


Given = Callable[[int], Mapping[str, object]]
"""The arguments of a call by its number."""


def calls(work: Work) -> dict[str, Given]:
    """Name the calls that are timed: one that writes, one that searches, one that reads a little."""
    return {
        "store_memory": lambda number: {"content": work.texts[number]},
        "search_text": lambda number: {"query": work.questions[number], "limit": 10},
        "list_memories": lambda number: {"limit": 1, "offset": number},
    }


def _beside(tool: str, timings: Mapping[str, Timing]) -> Iterator[Row]:
    inside = timings["in process"]
    for name, took in timings.items():
        more = (None, None) if took is inside else (apart(took, inside), took.cpu - inside.cpu)
        yield (tool, name, took.p50, took.p99, took.cpu, *more)


# Many at once


@dataclass(slots=True)
class Heard:
    """How long each request took, in milliseconds, over some seconds in which so much CPU went."""

    took: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    def row(self) -> tuple[float, float, float, float]:
        """Return requests a second, p50, p99, and CPU milliseconds a request."""
        p50, p99 = np.percentile(self.took, [50, 99])
        count = len(self.took)
        return count / self.seconds, float(p50), float(p99), self.cpu * 1e3 / count


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the requests that it is sent in turn."""

    server: Served
    requests: Sequence[bytes]


async def pressed(target: Target, connections: int, seconds: float, heard: Heard) -> None:
    """Let each connection ask again as soon as it was answered."""
    wires = [await Wire.open(target.server) for _ in range(connections)]
    requests = itertools.cycle(target.requests)
    until = time.perf_counter() + seconds

    async def keep_asking(wire: Wire) -> None:
        while (started := time.perf_counter()) < until:
            await wire.ask(next(requests))
            heard.took.append((time.perf_counter() - started) * 1e3)

    cpu, started = target.server.cpu(), time.perf_counter()
    try:
        await asyncio.gather(*map(keep_asking, wires))
    finally:
        for wire in wires:
            wire.close()
    heard.seconds += time.perf_counter() - started
    heard.cpu += target.server.cpu() - cpu


def throughput(rounds: int, seconds: float, at_once: Sequence[int], size: int) -> list[Row]:
    """Measure requests a second of each target, `rounds` times in turn, at each number at once."""
    work = drawn(200)
    with ExitStack() as stack:
        home = stack.enter_context(without_model(size))
        ours = stack.enter_context(served(over_http(home)))
        least = stack.enter_context(served(bare()))
        targets = {BARE: Target(least, [least.call("nothing", {})])}
        for tool, arguments in calls(work).items():
            made = [ours.call(tool, arguments(number)) for number in range(len(work.texts))]
            targets[f"minutebook: {tool}"] = Target(ours, made)
        rows: list[Row] = []
        for connections in at_once:
            heard = {name: Heard() for name in targets}
            for number in range(rounds + 1):
                for name, target in targets.items():
                    into = heard[name] if number else Heard()
                    asyncio.run(pressed(target, connections, seconds, into))
            beside = heard[BARE].row()[0]
            for name, each in heard.items():
                row = each.row()
                rows.append((connections, name, *row, row[0] / beside))
    return rows


# For a long time


@dataclass(slots=True)
class Part:
    """A part of a long run: what requests took in it, and the memory of the server, in MB."""

    took: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)


def endured(minutes: float, parts: int, size: int) -> list[Row]:
    """Read, search, recall, write and delete over some connections; the store stays as large."""
    work = drawn(2_000)
    with copied(filled(size) / "home") as home, served(over_http(home)) as server:
        found = asyncio.run(mixed(server, work, minutes * 60, parts))
    return [
        (
            f"{number * minutes / parts:.3g} to {(number + 1) * minutes / parts:.3g}",
            len(part.took),
            *map(float, np.percentile(part.took, [50, 99])),
            statistics.median(part.memory),
        )
        for number, part in enumerate(found)
    ]


async def mixed(server: Served, work: Work, seconds: float, parts: int) -> list[Part]:
    """Have some connections act one after another for so long; what they took, by parts of the time."""
    # The model loads, and what is held from the first call on is there, before the clock starts. A
    # server closes connections on which no request comes, so each is asked as soon as it is open.
    wires = []
    for _ in range(MIXED):
        wires.append(wire := await Wire.open(server))
        await wire.ask(server.call("recall", {"query": "which day is the meeting"}))
    started = time.perf_counter()
    found = [Part() for _ in range(parts)]

    def part() -> Part | None:
        now = int((time.perf_counter() - started) / seconds * parts)
        return found[now] if now < parts else None

    async def keep_asking(number: int, wire: Wire) -> None:
        chosen = Random(number)
        while (now := part()) is not None:
            before = time.perf_counter()
            for asking in steps(chosen, work):
                await asking(server, wire)
            now.took.append((time.perf_counter() - before) * 1e3)

    async def keep_weighing() -> None:
        while (now := part()) is not None:
            now.memory.append(pss(server.pid))
            await asyncio.sleep(min(1.0, seconds / parts / 3))

    await asyncio.gather(keep_weighing(), *(keep_asking(*each) for each in enumerate(wires)))
    for wire in wires:
        wire.close()
    return found


Step = Callable[[Served, Wire], Awaitable[None]]


def steps(chosen: Random, work: Work) -> Sequence[Step]:
    """Choose what is done next: of ten, three recall, three search, three read, one writes."""
    question = chosen.choice(work.questions)
    match chosen.randrange(10):
        case 0 | 1 | 2:
            return [_asking("recall", {"query": question})]
        case 3 | 4 | 5:
            return [_asking("search_text", {"query": question})]
        case 6 | 7 | 8:
            return [_asking("list_memories", {"limit": 5, "offset": chosen.randrange(SIZE)})]
        case _:
            return [_passing(chosen.choice(work.texts))]


def _asking(tool: str, arguments: Mapping[str, object]) -> Step:
    async def ask(server: Served, wire: Wire) -> None:
        await wire.ask(server.call(tool, arguments))

    return ask


def _passing(text: str) -> Step:
    """Write a memory, change it and delete it."""

    async def write(server: Served, wire: Wire) -> None:
        told = await wire.ask(server.call("store_memory", {"content": text}))
        id = told["structuredContent"]["id"]
        await wire.ask(server.call("update_memory", {"id": id, "content": f"{text} again"}))
        await wire.ask(server.call("delete_memory", {"id": id}))

    return write


def tables(*, quick: bool, minutes: float) -> list[Table]:
    """Measure all three."""
    rounds, slices, seconds = (2, 1, 0.05) if quick else (200, 3, 1.0)
    at_once, parts = (CONNECTIONS_QUICK, 2) if quick else (CONNECTIONS, 10)
    size = SIZE_QUICK if quick else SIZE
    beside = ("p50", "p99", "CPU", "more p50", "more CPU")
    return [
        Table(
            f"a call by itself, {size} memories, no model, milliseconds",
            ("tool", "called", *beside),
            overhead(rounds, size),
            "more: the median of each call less the same in process, and the mean of the CPU",
        ),
        Table(
            "calls at once over HTTP, milliseconds",
            ("connections", "what", "a second", "p50", "p99", "CPU each", "× bare"),
            throughput(slices, seconds, at_once, size),
            f"{slices} times {seconds} s each in turn; the client has one thread on the same machine",
        ),
        Table(
            f"mixed load over {MIXED} connections for {minutes:g} minutes",
            ("minutes", "acts", "p50", "p99", "memory"),
            endured(minutes, parts, size),
            "acts: 3 recall, 3 search_text, 3 list_memories, 1 write, change and delete, by chance; "
            "milliseconds; memory of the server (PSS) in MB",
        ),
    ]


def main() -> None:
    """Measure and publish."""
    parser = asked("Measure serving over HTTP.")
    parser.add_argument("--minutes", type=float, help="of mixed load (1; --quick: 0.01)")
    given = parser.parse_args()
    minutes = given.minutes or (QUICK_MINUTES if given.quick else 1.0)
    method = {**machine(), "client": "asyncio, raw HTTP/1.1, kept connections, no client library"}
    publish("serving_load", method, tables(quick=given.quick, minutes=minutes), quick=given.quick)


if __name__ == "__main__":
    main()
