"""Both engines of the store in one run: `python -m benchmarks.engines [--quick] [--records N …] [--folder PATH]`.

SQLite in a file, PostgreSQL from a wheel on this machine, reached by a socket, without fsync. Texts have 60 words in
Zipf's proportions, half of them English function words; vectors are those of `benchmarks/store.py`, 384 synthetic numbers
off-centre, as no machine embeds a million texts for this; `engine_stores.py` says whose they are. What both
engines are asked, they are asked in turn, so that they meet the same weather. CPU is that of the asking process, in
milliseconds; the server's, of all its processes, is counted in steps of 10 ms over all rounds. Beside them
pgvector and chromadb get the same vectors and the same questions (`vector_peers.py`).

With `--folder` everything is kept there: a run that was cut short goes on where it was, and a later one adds
sizes. A million records take 10 GB, and an hour or two of a core.
"""

import multiprocessing
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import vector_peers
from benchmarks.engine_stores import OWNER, Data, Engine, engines, fill, started_server
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
from benchmarks.phases import Phases
from benchmarks.store import (
    MAIN,
    PART,
    SPACE,
    Records,
    at,
    remember,
    text_queries,
    vector_queries,
)
from minutebook.app import now
from minutebook.features.migration.migration import Migration
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.protocol import Store, Tended
from minutebook.store.values import Vectors
from minutebook.text.words import parse_query
from tests.features.postgres.server import StartedServer

SIZES, QUICK_SIZES = (10_000, 100_000), (200,)
BESIDE = 200_000
"""The most records that others are given beside: they take minutes to index so many."""

OWNED = Filter(organization=MAIN, valid_at=at(MAIN).valid_at, equal={"user": OWNER})
WHERES = {
    "whole organization": at(MAIN),
    "organization of 1 %": at(PART),
    "user of 1 % in the large one": OWNED,
}
_QUIET_CPU, _QUIET_WALL, _QUIET_TIMES = 0.05, 2.0, 3
"""A process that uses no more of its CPU in that time, so many times in a row, has nothing left to do."""


def searches(known: Sequence[Engine], rounds: int) -> Table:
    """Measure words and vectors, for the best fifty, in each selection."""
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(engine.open("first"))) for engine in known]
        for store in stores:
            store.match(Memory, at(MAIN), parse_query("bread"), 1)
        # What was not saved of an index when its store was closed is read again behind a search.
        _wait_until_quiet()
        return _searched(stores, known, rounds)


def _searched(stores: Sequence[Tended], known: Sequence[Engine], rounds: int) -> Table:
    near = list(vector_queries(rounds + 3, 3))
    words = [parse_query(text) for text in text_queries(rounds + 3, 4)]
    rows: list[tuple[str | float | None, ...]] = []

    def match(store: Tended, where: Filter, number: int) -> None:
        store.match(Memory, where, words[number], 50)

    def nearest(store: Tended, where: Filter, number: int) -> None:
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


def recall(known: Sequence[Engine], best: vector_peers.Best) -> Table:
    """Compare the ten nearest with those of a scan over every vector."""
    rows: list[tuple[str | float, ...]] = []
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(engine.open("first"))) for engine in known]
        for name, where in WHERES.items():
            shares = []
            for store in stores:
                found = [
                    [each.id for each in store.nearest(Memory, where, SPACE, query, 10)]
                    for query in best.queries
                ]
                shares.append(best.share(name, found))
            rows.append((name, *shares))
    return Table("Recall@10 against exact", ("of", *(engine.name for engine in known)), rows)


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
    """Measure opening and the first search by words and by vector, without indices, then with them."""
    words, vector = parse_query(text_queries(1, 8)[0]), vector_queries(1, 8)[0]
    rows: list[tuple[str | float, ...]] = []
    for engine in known:
        for how in ("cold", "warm"):
            beneath = engine.server_cpu()
            with stopwatch() as watch:
                store = engine.open("first")
                store.match(Memory, at(MAIN), words, 50)
                store.nearest(Memory, at(MAIN), SPACE, vector, 50)
            answered = watch.wall, watch.cpu, engine.server_cpu() - beneath
            with stopwatch() as after:
                _wait_until_quiet()
            store.close()
            rows.append((f"{engine.name}, {how}", *answered, watch.cpu + after.cpu, _largest()))
    return Table(
        "Start until both searches answered, s",
        ("what", "wall", "CPU", "of its server", "CPU until all is indexed", "most memory, MB"),
        rows,
        "the memory is the most that the process, which began with the first row, has had so far",
    )


def _wait_until_quiet() -> None:
    """Wait until nothing of this process works any more, as indices are brought up behind a search."""
    quiet = 0
    while quiet < _QUIET_TIMES:
        before = time.process_time()
        time.sleep(_QUIET_WALL)
        quiet = quiet + 1 if time.process_time() - before < _QUIET_CPU else 0


def _largest() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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
    engine: Engine, store: Tended, writers: int, organizations: int, count: int
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


def sizes(known: Sequence[Engine], records: int) -> Table:
    """Measure what is on the disk, indices included."""
    held = []
    for engine in known:
        with closing(engine.open("first")) as store:
            held.append(store.upkeep.size() / records)
    return Table("Bytes a record", tuple(engine.name for engine in known), [tuple(held)])


def tending(known: Sequence[Engine], rounds: int) -> Table:
    """Measure what pages and the overview ask, and the check of everything once."""
    rows: list[tuple[str | float | None, ...]] = []
    works: dict[str, tuple[Callable[[Store], object], int]] = {
        "count": (lambda store: store.count(Memory, at(MAIN)), rounds),
        "newest 20": (_page(0), rounds),
        "20 from the 1,000th on": (_page(1000), rounds),
        "organizations": (lambda store: store.organizations(), rounds),
        "users, by groups": (_groups, 3),
    }
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(engine.open("first"))) for engine in known]
        for name, (work, times) in works.items():
            asks = [partial(_ask, work, store) for store in stores]
            (file, server), beneath = _in_turn(known, asks, times)
            rows.append((name, file.p50, file.cpu, server.p50, server.cpu, beneath))
        checked: list[float] = []
        for engine, store in zip(known, stores, strict=True):
            before = engine.server_cpu()
            with stopwatch() as watch:
                found = store.upkeep.check()
            assert found == [], found
            checked += [watch.wall * 1e3, watch.cpu * 1e3]
            spent = (engine.server_cpu() - before) * 1e3
        rows.append(("check of everything", *checked, spent))
    columns = ("what", "SQLite", "CPU", "PostgreSQL", "CPU of the client", "of its server")
    return Table("Counts, pages and the check, ms", columns, rows)


def moving(known: Sequence[Engine], folder: Path, server: StartedServer, records: int) -> Table:
    """Measure `migrate` of the file into an empty database, all that was moved compared."""
    file, database = known[0], f"moved_{records}"
    server.drop(database)
    with closing(file.open("first")) as source:
        target = engines(folder, server, database)[1]
        with closing(target.open("moved", receives=True)) as taking:
            beneath = target.server_cpu()
            with stopwatch() as watch:
                moved = Migration(source, taking, now).run(lambda part, what: None)
            spent = target.server_cpu() - beneath
    server.drop(database)
    assert not moved.breaks
    return Table(
        "Moving the file into a database",
        ("changes", "vectors", "CPU s", "of the server", "ms a change, both"),
        [
            (
                moved.changes,
                moved.vectors,
                watch.cpu,
                spent,
                (watch.cpu + spent) * 1e3 / moved.changes,
            )
        ],
    )


def _ask(work: Callable[[Store], object], store: Store, number: int) -> None:
    work(store)


def _page(offset: int) -> Callable[[Store], object]:
    return lambda store: store.find(
        Memory, at(MAIN), order=["-ingestion_time"], limit=20, offset=offset
    )


def _groups(store: Store) -> object:
    return store.groups(Memory, at(MAIN), ["user"], "ingestion_time")


def measure(size: int, base: Path, server: StartedServer, *, quick: bool) -> list[Table]:
    """Measure everything at a size."""
    rounds, folder = 2 if quick else 30, base / str(size)
    folder.mkdir(exist_ok=True)
    data, phases = Data(folder / "data", size), Phases(folder)
    known = engines(folder, server, f"engines_{size}")
    best = partial(vector_peers.best_of, data, folder, rounds)
    works: dict[str, Callable[[], Sequence[Table]]] = {
        "filling": lambda: [fill(known, data, folder)],
        "starts": lambda: [starts(known)],
        "searches": lambda: [searches(known, rounds)],
        "recall": lambda: [recall(known, best())],
        "sizes": lambda: [sizes(known, size)],
        "tending": lambda: [tending(known, rounds)],
        "freshness": lambda: [freshness(known, 2 if quick else 20)],
        "inserts": lambda: [inserts(known, 8 if quick else 800)],
    }
    if size <= BESIDE:
        works["moving"] = lambda: [moving(known, folder, server, size)]
        works["beside"] = lambda: vector_peers.beside(
            data, folder, server, best(), rounds, chroma=not quick
        )
    tables: list[Table] = []
    for name, work in works.items():
        tables += phases.tables(name, work)
    return [replace(table, title=f"{table.title}: {size:,} records") for table in tables]


def main() -> None:
    """Measure and publish."""
    parser = asked("Measure both engines of the store.")
    parser.add_argument("--records", type=int, nargs="+", metavar="N", help="how many, by turns")
    parser.add_argument("--folder", type=Path, help="keep everything here, and go on from it")
    given = parser.parse_args()
    tables: list[Table] = []
    with ExitStack() as stack:
        kept: Path | None = given.folder
        base = kept or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        base.mkdir(parents=True, exist_ok=True)
        try:
            server = stack.enter_context(started_server(kept and kept.resolve() / "server"))
            for size in given.records or (QUICK_SIZES if given.quick else SIZES):
                tables += measure(size, base, server, quick=given.quick)
        except NotThere as error:
            print(f"left out: {error}")
    publish("engines", machine(), tables, quick=given.quick)


if __name__ == "__main__":
    main()
