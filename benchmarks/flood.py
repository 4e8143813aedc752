"""What one token's flood costs another token's calls: `python -m benchmarks.flood [--quick] [--rounds N]`.

One server, two tokens, a store of 1,000 memories, searched by words. The second token searches again and
again, one call at a time, first alone, then while the first floods the server in one of several ways, then alone
again; the figures of one kind are of one run, so compare them with each other. A flood is 48 tasks on 127.0.0.1, each with
one connection, or twelve that send half a head, and lasts some 15 seconds. Server and clients share the machine.
On a busy machine a server that works all the time is given less of it than one that sleeps, so the ratio is worse than
on a quiet one; the server's CPU time for each of the second token's calls, the flood's work included, does not depend on that.
"""

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random

from benchmarks.measure import Cell, Table, asked, machine, publish
from benchmarks.serving_load import SIZE, SIZE_QUICK, over_http, without_model
from benchmarks.tool import Work, drawn
from benchmarks.wire import Served, Wire, served
from tests.line_client import initialize

AT_ONCE, AT_ONCE_QUICK = 48, 6
"""Connections that flood, as many calls at once."""

LONG = 9_000
"""Characters of a long query; MAX_QUERY allows 10,000."""

BIG = 200_000
"""Characters of a big text."""

PAUSE = 0.02
"""Seconds between two calls of the second token."""

LONGEST = 12.0
"""Seconds after which the second token has called often enough, and the flood ends."""

QUICK = ("long queries", "half heads")
"""The kinds of the short form."""

Kind = Callable[[Served, str, Work, int], Coroutine[None, None, None]]
"""One connection's part of a flood: it goes on until it is cancelled."""


def token(home: Path, name: str) -> str:
    """Make a token."""
    command = [sys.executable, "-P", "-m", "minutebook", "--home", str(home), "token", "create", "--name", name, "--json"]  # fmt: skip
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return str(json.loads(found)["secret"])


def with_token(request: bytes, secret: str) -> bytes:
    """Put a token into the head of a request."""
    line, _, rest = request.partition(b"\r\n")
    return line + b"\r\nAuthorization: Bearer " + secret.encode() + b"\r\n" + rest


async def _again(server: Served, secret: str, request: Callable[[int], bytes]) -> None:
    """Send one request after another, whatever the answers are."""
    for number in itertools.count():
        wire = None
        try:
            wire = await Wire.open(server)
            while True:
                await wire.ask(with_token(request(number), secret))
        except (RuntimeError, OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.01)
        finally:
            if wire is not None:
                wire.close()


async def searches(server: Served, secret: str, work: Work, number: int) -> None:
    """Short questions."""
    await _again(server, secret, lambda n: server.call("search_text", {"query": work.questions[(n + number) % len(work.questions)], "limit": 50}))  # fmt: skip


async def long_queries(server: Served, secret: str, work: Work, number: int) -> None:
    """Questions as long as may be."""
    words = " ".join(work.texts).split()
    chosen = " ".join(Random(number).choices(words, k=LONG // 4))[:LONG]
    await _again(server, secret, lambda n: server.call("search_text", {"query": f"{n} {chosen}", "limit": 50}))  # fmt: skip


async def big_texts(server: Served, secret: str, work: Work, number: int) -> None:
    """Memories of 200,000 characters."""
    text = (" ".join(work.texts) * (1 + BIG // len(" ".join(work.texts))))[:BIG]
    await _again(server, secret, lambda n: server.call("store_memory", {"content": f"{number} {n} {text}"}))  # fmt: skip


async def slow_readers(server: Served, secret: str, work: Work, number: int) -> None:
    """Long lists that nobody reads."""
    request = with_token(server.call("list_memories", {"limit": 100}), secret)
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=256)
            writer.write(request * 20)
            await asyncio.sleep(3)
            writer.transport.abort()


async def half_heads(server: Served, secret: str, work: Work, number: int) -> None:
    """Heads of requests that do not end, twelve connections a task."""
    while True:
        writers = []
        for _ in range(12):
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
                writers.append(writer)
        await asyncio.sleep(1)
        for writer in writers:
            writer.transport.abort()


async def sessions(server: Served, secret: str, work: Work, number: int) -> None:
    """Handshakes, one after another."""
    body = json.dumps(initialize("2025-06-18")).encode()
    head = (
        f"POST {server.path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    await _again(server, secret, lambda _: head.encode() + body)


KINDS: dict[str, Kind] = {
    "searches": searches,
    "long queries": long_queries,
    "big texts": big_texts,
    "slow readers": slow_readers,
    "half heads": half_heads,
    "sessions": sessions,
}


@asynccontextmanager
async def flooding(
    kind: Kind, server: Served, secret: str, work: Work, at_once: int
) -> AsyncIterator[None]:
    """Flood the server meanwhile."""
    tasks = [asyncio.create_task(kind(server, secret, work, n)) for n in range(at_once)]
    try:
        await asyncio.sleep(1)
        yield
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(1)


async def timed(server: Served, secret: str, work: Work, rounds: int) -> list[float]:
    """Time the second token's searches, in milliseconds; one that fails or is refused counts 30 s."""
    taken: list[float] = []
    wire = await Wire.open(server)
    end = time.monotonic() + LONGEST
    for number in range(rounds):
        if time.monotonic() > end and len(taken) >= 5:
            break
        request = server.call("search_text", {"query": work.questions[number % len(work.questions)], "limit": 10})  # fmt: skip
        began = time.perf_counter()
        try:
            await asyncio.wait_for(wire.ask(with_token(request, secret)), 30)
            taken.append(1e3 * (time.perf_counter() - began))
        except (RuntimeError, OSError, TimeoutError, asyncio.IncompleteReadError):
            taken.append(30e3)
            wire.close()
            with suppress(OSError):
                wire = await Wire.open(server)
        await asyncio.sleep(PAUSE)
    wire.close()
    return taken


async def measured(
    server: Served,
    tokens: tuple[str, str],
    work: Work,
    rounds: int,
    kinds: Sequence[str],
    at_once: int,
) -> list[tuple[Cell, ...]]:
    """Measure each kind of flood between two quiet times."""
    rows: list[tuple[Cell, ...]] = []
    await timed(server, tokens[1], work, rounds)
    for name in kinds:
        kind = KINDS[name]
        idle = await timed(server, tokens[1], work, rounds)
        async with flooding(kind, server, tokens[0], work, at_once):
            before = server.cpu()
            flooded = await timed(server, tokens[1], work, rounds)
            spent = server.cpu() - before
        idle += await timed(server, tokens[1], work, rounds)
        quiet = statistics.median(idle)
        rows.append(
            (
                name,
                quiet,
                _p99(idle),
                statistics.median(flooded),
                _p99(flooded),
                statistics.median(flooded) / quiet,
                1e3 * spent / len(flooded),
                round(os.getloadavg()[0], 1),
            )
        )
        print(*(f"{each:.1f}" if isinstance(each, float) else each for each in rows[-1]), flush=True)  # fmt: skip
    return rows


def _p99(taken: list[float]) -> float:
    return sorted(taken)[int(0.99 * len(taken))]


def main() -> None:
    """Measure, print, keep."""
    parser = asked("Measure what one token's flood costs another's calls.")
    parser.add_argument(
        "--rounds", type=int, default=150, help="calls of the second token each time"
    )
    parser.add_argument("--kind", action="append", choices=KINDS, help="a kind of flood; all by default")  # fmt: skip
    given = parser.parse_args()
    rounds = 2 if given.quick else given.rounds
    at_once = AT_ONCE_QUICK if given.quick else AT_ONCE
    kinds = given.kind or list(QUICK if given.quick else KINDS)
    work = drawn(200)
    size = SIZE_QUICK if given.quick else SIZE
    with without_model(size) as home:
        tokens = token(home, "flood"), token(home, "other")
        with served(over_http(home)) as server:
            rows = asyncio.run(measured(server, tokens, work, rounds, kinds, at_once))
    columns = ("flood", "p50 idle, ms", "p99 idle", "p50 flooded", "p99 flooded", "p50 ratio", "server CPU a call, ms", "load")  # fmt: skip
    method = {**machine(), "memories": size, "connections that flood": at_once, "calls": rounds}
    publish("flood", method, [Table("Another token's searches", columns, rows)], quick=given.quick)


if __name__ == "__main__":
    main()
