"""Both engines of the store in one run: `python -m benchmarks.engines [--quick] [--million]`.

SQLite in a file, PostgreSQL from a wheel on this machine, reached by a socket, without fsync. The data are those of
`benchmarks/store.py`: texts of 60 words in Zipf's proportions, vectors of 384 numbers off-centre; an
organization holds 1 % of the records, another 0.01 %, the main one the rest, and a user of the main one owns 1 % of
its records. Both engines are asked in turn, so that they meet the same weather. CPU is that of the asking process, in
milliseconds; the server's, of all its processes, is counted in steps of 10 ms over all rounds.
"""

import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import (
    NotThere,
    Table,
    Timing,
    asked,
    machine,
    publish,
    stopwatch,
    timed_in_turn,
)
from benchmarks.store import (
    FEW,
    MAIN,
    PART,
    SPACE,
    Records,
    at,
    remember,
    text_queries,
    vector_queries,
)
from minutebook.domain.filters import Filter
from minutebook.domain.records import Memory
from minutebook.search.text import parse_query
from minutebook.store.protocol import Store, Vectors
from minutebook.store.sqlite import SqliteStore
from minutebook.store.transfer import Carried, Embedding, Transferable
from tests.postgres_server import WHEEL, StartedServer

SIZES, QUICK_SIZES, MILLION = (10_000, 100_000), (2_000,), 1_000_000
OWNER = Filter(organization=MAIN, valid_at=at(MAIN).valid_at, equal={"user": "owner"})
Exact: TypeAlias = dict[str, NDArray[Any]]
"""The rows of the main organization, their ids, and which are the user's."""

WHERES = {
    "whole organization": at(MAIN),
    "organization of 1 %": at(PART),
    "user of 1 % in the large one": OWNER,
}
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Engine:
    """How a store is opened with a folder of indices, and what the server beneath has used."""

    name: str
    open: Callable[[str], Transferable]
    server_cpu: Callable[[], float]


@contextmanager
def engines(folder: Path) -> Iterator[list[Engine]]:
    """Give both engines on stores of their own. Raises NotThere if there is no PostgreSQL."""
    with ExitStack() as stack:
        server = _server()
        stack.callback(server.stop)
        server.make_empty("engines")
        url = server.url("engines")

        def file(indices: str) -> Transferable:
            # Its indices stand beside the file: those of another name are none.
            store = folder / "store.db"
            if indices == "second":
                shutil.rmtree(folder / "store.db-index", ignore_errors=True)
            return SqliteStore(store, durability="normal")

        def database(indices: str) -> Transferable:
            from minutebook.store.postgres import PostgresStore

            return PostgresStore(url, folder / indices, durability="normal", pool=16)

        yield [
            Engine("SQLite", file, lambda: 0.0),
            Engine("PostgreSQL", database, lambda: _cpu_of(server.pids())),
        ]


def fill(stores: Sequence[Transferable], size: int) -> Exact:
    """Give all stores the same records; return the main organization's vectors and who owns them."""
    data, kept, owners, ids = Records(1), list[Vectors](), list[bool](), list[str]()
    for store in stores:
        store.begin_receiving("benchmark")
    for start in range(0, size, _BATCH):
        batches: dict[str, list[Carried]] = {}
        for number in range(start, min(size, start + _BATCH)):
            name = _home(number)
            memory, vectors = data.next(name, "owner" if number % 100 == 50 else None)
            embedding = Embedding(SPACE, vectors.astype(np.float16))
            batches.setdefault(name, []).append(Carried(memory, embedding))
            if name == MAIN:
                kept.append(embedding.vectors.astype(np.float32))
                owners.append(memory.user is not None)
                ids.append(memory.id)
        for name, carried in batches.items():
            for store in stores:
                store.receive(name, carried, (), start)
    for store in stores:
        store.end_receiving()
    rows = np.concatenate(kept)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {"rows": rows, "owned": np.array(owners), "ids": np.array(ids)}


def searches(stores: Sequence[Transferable], known: Sequence[Engine], rounds: int) -> Table:
    """Measure words and vectors, for the best fifty, in each selection."""
    near = list(vector_queries(rounds + 3, 3))
    words = [parse_query(text) for text in text_queries(rounds + 3, 4)]
    rows: list[tuple[str | float | None, ...]] = []

    def match(store: Transferable, where: Filter, number: int) -> None:
        store.match(Memory, where, words[number], 50)

    def nearest(store: Transferable, where: Filter, number: int) -> None:
        store.nearest(Memory, where, SPACE, near[number], 50)

    for name, where in WHERES.items():
        for what, ask in (("words", match), ("vectors", nearest)):
            works = [partial(ask, store, where) for store in stores]
            (file, server), beneath = _in_turn(known, works, rounds)
            rows.append((f"{what}, {name}", file.p50, file.cpu, server.p50, server.cpu, beneath))
    return Table(
        "Search, best 50, ms",
        ("what", "SQLite", "CPU", "PostgreSQL", "CPU of the client", "of its server"),
        rows,
    )


def recall(stores: Sequence[Transferable], exact: Exact, asking: int) -> Table:
    """Compare the ten nearest with those of a scan over every vector."""
    queries = vector_queries(asking, 5)
    rows: list[tuple[str | float, ...]] = []
    for name, chosen in (("whole organization", None), ("user of 1 % in the large one", "owned")):
        places = np.flatnonzero(exact["owned"]) if chosen else np.arange(len(exact["ids"]))
        where = OWNER if chosen else at(MAIN)
        shares = []
        for store in stores:
            same = total = 0
            for query in queries:
                best = places[np.argsort(-(exact["rows"][places] @ query))[:10]]
                found = {each.id for each in store.nearest(Memory, where, SPACE, query, 10)}
                same += len(found & set(exact["ids"][best]))
                total += len(best)
            shares.append(same / total)
        rows.append((name, *shares))
    return Table("Recall@10 against exact", ("of", "SQLite", "PostgreSQL"), rows)


def freshness(known: Sequence[Engine], rounds: int) -> Table:
    """Measure the first search of a store after another, with nothing in common, committed."""
    rows: list[tuple[str | float, ...]] = []
    for engine in known:
        with closing(engine.open("first")) as reading, closing(engine.open("first")) as writing:
            data, walls = Records(7), {"words": list[float](), "vectors": list[float]()}
            reading.nearest(Memory, at(MAIN), SPACE, vector_queries(1, 6)[0], 10)
            reading.match(Memory, at(MAIN), parse_query("bread"), 10)
            for number in range(rounds):
                memory, vectors = data.next(MAIN, None, content=f"marker{number} fresh")
                remember(writing, memory, vectors)
                with stopwatch() as watch:
                    matches = reading.match(Memory, at(MAIN), parse_query(f"marker{number}"), 10)
                walls["words"].append(watch.wall * 1e3)
                with stopwatch() as watch:
                    nearest = reading.nearest(Memory, at(MAIN), SPACE, vectors[0], 10)
                walls["vectors"].append(watch.wall * 1e3)
                for found in (matches, nearest):
                    assert memory.id in [each.id for each in found]
            rows += [(f"{engine.name}, {what}", *_spread(wall)) for what, wall in walls.items()]
    return Table(
        "First search after another store's commit, ms", ("what", "median", "longest"), rows
    )


def starts(known: Sequence[Engine]) -> Table:
    """Measure opening and the first search by words and by vector, without indices and with them."""
    words, vector = parse_query(text_queries(1, 8)[0]), vector_queries(1, 8)[0]
    rows: list[tuple[str | float, ...]] = []
    for engine in known:
        for how, indices in (("cold", "second"), ("warm", "second")):
            folder = "first" if how == "warm" and engine.name == "SQLite" else indices
            beneath = engine.server_cpu()
            with stopwatch() as watch:
                store = engine.open(folder)
                store.match(Memory, at(MAIN), words, 50)
                store.nearest(Memory, at(MAIN), SPACE, vector, 50)
            spent = engine.server_cpu() - beneath
            store.close()
            rows.append((f"{engine.name}, {how}", watch.wall, watch.cpu, spent))
    return Table(
        "Start until both searches answered, s", ("what", "wall", "CPU", "of its server"), rows
    )


def inserts(known: Sequence[Engine], count: int) -> Table:
    """Measure writes of a memory with version, vector, entry and head, each a commit of its own."""
    rows: list[tuple[str | float, ...]] = []
    for engine in known:
        with closing(engine.open("first")) as store:
            for writers, organizations in ((1, 1), (1, 8), (8, 1), (8, 8)):
                rate, cpu, beneath = _written(engine, store, writers, organizations, count)
                what = f"{engine.name}, {writers} writers, {organizations} organizations"
                rows.append((what, rate, cpu, beneath))
        what = f"{engine.name}, 8 writers of 2 processes, 8 organizations"
        rows.append((what, *_written_apart(engine, count)))
    return Table(
        "Writes of one memory with all that belongs to it",
        ("what", "a second", "CPU ms each", "of its server"),
        rows,
        "writers are threads of one process but in the last row, and share the machine with the server",
    )


def _written(
    engine: Engine, store: Transferable, writers: int, organizations: int, count: int
) -> tuple[float, float, float]:
    data, each = Records(100 + writers + organizations), count // writers
    made = [
        # One writer takes all in turn, of several each has its own.
        [
            data.next(f"writers-{(turn if writers == 1 else number) % organizations}", None)
            for turn in range(each)
        ]
        for number in range(writers)
    ]
    beneath = engine.server_cpu()
    with stopwatch() as watch:
        _write_at_once(store, made)
    total = each * writers
    spent = engine.server_cpu() - beneath
    return total / watch.wall, watch.cpu * 1e3 / total, spent * 1e3 / total


def _write_at_once(store: Store, made: Sequence[Sequence[tuple[Memory, Vectors]]]) -> None:
    """Write memories in as many threads as there are lists of them."""
    ready = threading.Barrier(len(made))

    def write(records: Sequence[tuple[Memory, Vectors]]) -> None:
        ready.wait()
        for memory, vectors in records:
            remember(store, memory, vectors)

    with ThreadPoolExecutor(len(made)) as pool:
        list(pool.map(write, made))


def _written_apart(engine: Engine, count: int) -> tuple[float, float, float]:
    """Have two processes write, of four threads each, as two servers do."""
    processes, threads = 2, 4
    context = multiprocessing.get_context("fork")
    ready, ended = context.Barrier(processes + 1), context.Queue()

    def work(number: int) -> None:
        with closing(engine.open(f"process-{number}")) as store:
            data, each = Records(200 + number), count // (processes * threads)
            names = [f"writers-{threads * number + thread}" for thread in range(threads)]
            made = [[data.next(name, None) for _ in range(each)] for name in names]
            # Connections are made and indices opened by whoever comes first.
            _write_at_once(store, [[data.next(name, None)] for name in names])
            ready.wait()
            used = time.process_time()
            _write_at_once(store, made)
            ended.put(time.process_time() - used)

    working = [context.Process(target=work, args=(number,)) for number in range(processes)]
    for process in working:
        process.start()
    ready.wait()
    beneath, began = engine.server_cpu(), time.perf_counter()
    spent = sum(ended.get() for _ in working)
    took, below = time.perf_counter() - began, engine.server_cpu() - beneath
    for process in working:
        process.join()
    total = count // (processes * threads) * processes * threads
    return total / took, spent * 1e3 / total, below * 1e3 / total


def _in_turn(
    known: Sequence[Engine], works: Sequence[Callable[[int], object]], rounds: int
) -> tuple[list[Timing], float]:
    """Time works of the engines in turn; also the CPU of the last one's server for a round."""
    named = {
        engine.name: (work, time.process_time) for engine, work in zip(known, works, strict=True)
    }
    works[-1](0)
    beneath = known[-1].server_cpu()
    took = timed_in_turn(named, rounds)
    spent = (known[-1].server_cpu() - beneath) * 1e3 / (rounds + 3)
    return list(took.values()), spent


def _spread(walls: list[float]) -> tuple[float, float]:
    return float(np.median(walls)), max(walls)


def _home(number: int) -> str:
    if number % 10_000 == 1:
        return FEW
    return PART if number % 100 == 2 else MAIN


def _server() -> StartedServer:
    if find_spec(WHEEL) is None:
        raise NotThere(f"PostgreSQL's programs are not installed: pip install {WHEEL}")
    return StartedServer(16)


def _cpu_of(pids: Sequence[int]) -> float:
    """Sum the CPU seconds of processes, of the first with those of its children that have ended."""
    total = 0
    for place, pid in enumerate(pids):
        try:
            told = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            continue
        fields = [int(each) for each in told.rpartition(")")[2].split()[11:15]]
        total += sum(fields if place == 0 else fields[:2])
    return total / os.sysconf("SC_CLK_TCK")


def measure(size: int, *, quick: bool) -> list[Table]:
    """Measure everything at a size."""
    rounds = 10 if quick else 30
    with tempfile.TemporaryDirectory() as name, engines(Path(name)) as known:
        stores = [engine.open("first") for engine in known]
        exact = fill(stores, size)
        tables = [searches(stores, known, rounds), recall(stores, exact, rounds)]
        held = tuple(store.size() / size for store in stores)
        tables.append(Table("Bytes a record", ("SQLite", "PostgreSQL"), [held]))
        for store in stores:
            store.close()
        tables += [freshness(known, 5 if quick else 20), starts(known)]
        tables.append(inserts(known, 80 if quick else 800))
    return [replace(table, title=f"{table.title}: {size:,} records") for table in tables]


def main() -> None:
    """Measure and publish."""
    parser = asked("Measure both engines of the store.")
    parser.add_argument("--million", action="store_true", help="a million records too; takes hours")
    given = parser.parse_args()
    sizes = QUICK_SIZES if given.quick else (*SIZES, *([MILLION] if given.million else ()))
    tables: list[Table] = []
    try:
        for size in sizes:
            tables += measure(size, quick=given.quick)
    except NotThere as error:
        print(f"left out: {error}")
    publish("engines", machine(), tables, quick=given.quick)


if __name__ == "__main__":
    main()
