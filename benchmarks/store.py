"""The store: how quick it writes, searches and opens, and how near its vector search is to exact.

`python -m benchmarks.store` prints tables and writes `benchmarks/results/store.json`; `--quick` is
a short form. Data sets are kept under the temporary folder and used again.

The texts are 60 words each from a vocabulary of 50,000 in Zipf's proportions; a query is four words
of one text, none among the 120 most frequent, which stand for the stop words of a real language.
The vectors (384 dimensions) lie around subjects within subjects, off-centre, so that their cosines
and the ranks of their true neighbours by code are those of 2,759 LoCoMo turns and 400 questions
under multilingual-e5-small (mean cosine 0.75, best 0.86, tenth best 0.83; the ten nearest are among
the 64 nearest by code in half of all cases, among the 323 in 95 %; there 59 and 300). An organization holds 1 % of the records, another 0.01 %, the
main one the rest; a user of the main one owns 1 % of its records. Latencies are medians of wall time
in milliseconds, with the CPU time of all threads of the process beside them.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import apsw
import numpy as np

from benchmarks.measure import DATA, FORM, stopwatch, timed
from minutebook.record.filters import Filter
from minutebook.record.ids import new_id
from minutebook.record.records import (
    Head,
    Kind,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
    Version,
)
from minutebook.record.trust import trail
from minutebook.store.protocol import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.store.values import Vectors, VectorSpace
from minutebook.text.words import parse_query

RESULTS = Path(__file__).parent / "results" / "store.json"

SPACE = VectorSpace("synthetic", "4", 384)
VOCABULARY, WORDS, STOP_WORDS, QUERY_WORDS = 50_000, 60, 120, 4
LEVELS, BRANCHES, SHARE, FALL, OFFSET = 5, 8, 0.12, 0.2, 1.7
UNRELATED = OFFSET**2 / (1 + OFFSET**2)
"""The cosine that any two vectors have by their common offset alone."""
MAIN, PART, FEW = "main", "part", "few"
_POPULAR = np.arange(1, BRANCHES + 1) ** -0.6 / np.sum(np.arange(1, BRANCHES + 1) ** -0.6)
NOW = datetime(2026, 6, 1, tzinfo=UTC)

FRESH = """
import sys, time, json, os
from pathlib import Path
from benchmarks import store as bench
query, *queries = bench.vector_queries(31, 9)
before = bench.resident_mb()
started, cpu = time.perf_counter(), time.process_time()
store = bench.SqliteStore(Path(sys.argv[1]))
opened = time.perf_counter() - started
store.nearest(bench.Memory, bench.at(bench.MAIN), bench.SPACE, query, 50)
searched, used = time.perf_counter() - started, time.process_time() - cpu
for query in queries:
    store.nearest(bench.Memory, bench.at(bench.MAIN), bench.SPACE, query, 50)
print(json.dumps({"open_ms": opened * 1e3, "open_and_search_ms": searched * 1e3,
    "cpu_ms": used * 1e3, "rss_mb": bench.resident_mb(), "rss_before_mb": before,
    "private_mb": bench.private_mb()}))
store.close()
"""

WRITER = """
import sys
from pathlib import Path
from benchmarks import store as bench
store = bench.SqliteStore(Path(sys.argv[1]))
data = bench.Records(77)
print("ready", flush=True)
for line in sys.stdin:
    memory, vector = data.next(bench.MAIN, None, content=line.strip())
    bench.remember(store, memory, vector)
    print(memory.id, flush=True)
"""


class Records:
    """Draws memories and their vectors."""

    def __init__(self, seed: int | Sequence[int], made: int = 0) -> None:
        """Draw by a seed, as if so many records were made before."""
        self._drawn = np.random.default_rng(seed)
        ranks = np.arange(1, VOCABULARY + 1)
        self._cumulated = np.cumsum(1 / ranks) / np.sum(1 / ranks)
        self._levels = _levels()
        self._made = made

    def next(
        self, organization: str, user: str | None, content: str = ""
    ) -> tuple[Memory, Vectors]:
        """Draw one memory."""
        memory = self.memory(organization, user, content or " ".join(self.words(WORDS)))
        return memory, self.vectors(1)

    def memory(self, organization: str, user: str | None, content: str) -> Memory:
        """Make a memory of a text."""
        self._made += 1
        return Memory(
            organization=organization,
            id=new_id(datetime.fromtimestamp(1.7e9 + self._made, UTC), self._bits),
            content=content,
            scope=ScopeLevel.ORGANIZATION,
            type=MemoryType.SEMANTIC,
            status=Status.ACTIVE,
            author="agent",
            event_time=NOW,
            ingestion_time=NOW,
            updated_at=NOW,
            valid_from=NOW,
            user=user,
        )

    def words(self, count: int, least_rank: int = 0) -> list[str]:
        """Draw words in Zipf's proportions."""
        start = 0.0 if least_rank == 0 else self._cumulated[least_rank - 1]
        drawn = start + (1 - start) * self._drawn.random(count)
        return [word(int(rank)) for rank in np.searchsorted(self._cumulated, drawn)]

    def vectors(self, count: int) -> Vectors:
        """Draw unit vectors, each around one of the subjects."""
        common, *levels, strengths = self._levels
        vectors = np.repeat(common, count, axis=0)
        place = np.zeros(count, np.int64)
        for level in levels:
            place = place * BRANCHES + self._drawn.choice(BRANCHES, count, p=_POPULAR)
            vectors += np.float32(SHARE**0.5) * level[place]
        noise = self._drawn.standard_normal((count, SPACE.dimensions), np.float32)
        return _unit(vectors + np.float32((1 - LEVELS * SHARE) ** 0.5) * strengths * noise)

    def _bits(self, count: int) -> int:
        return int.from_bytes(self._drawn.bytes(8), "big") >> (64 - count)


@cache
def word(rank: int) -> str:
    """Spell a word: the same for a rank each time, made of syllables, frequent ones short."""
    spelled = ""
    number = rank + 14
    while number:
        number, syllable = divmod(number, 70)
        spelled += "bdfghklmnprstv"[syllable % 14] + "aeiou"[syllable // 14]
    return spelled


def vector_queries(count: int, seed: int) -> Vectors:
    """Draw vectors that lie near records as questions lie near their answers."""
    return Records(seed).vectors(count)


def text_queries(count: int, seed: int) -> list[str]:
    """Draw questions of a few words."""
    data = Records(seed)
    return [" ".join(data.words(QUERY_WORDS, STOP_WORDS)) for _ in range(count)]


def at(organization: str) -> Filter:
    """Select what holds now, as every search does."""
    return Filter(organization=organization, valid_at=NOW)


def remember(store: Store, memory: Memory, vectors: Vectors) -> None:
    """Write what `store_memory` writes: memory, text, version 1, vectors, audit entry, changes."""
    organization = memory.organization
    with store.transaction(organization):
        store.put(memory)
        store.put(
            Version(
                organization=organization,
                id=f"{memory.id}.1",
                memory=memory.id,
                number=1,
                content=memory.content,
                title=None,
                changed_by=memory.author,
                changed_at=NOW,
                request="r",
            )
        )
        store.put_vectors(Memory, organization, memory.id, SPACE, vectors)
        last = cast("Head | None", store.get(Head, organization, trail.HEAD))
        act = trail.Act(
            actor=memory.author,
            role=Role.AGENT,
            act="write",
            subject_kind=Kind.MEMORY,
            subject=memory.id,
            request="r",
            after=trail.text_digest(memory.text),
        )
        entry = trail.sealed(organization, last, act, NOW)
        store.put(entry)
        store.put(trail.head_of(entry))


def build(size: int) -> tuple[Path, float]:
    """Make the data set of a size, if it is not there yet; give it and the seconds it took."""
    folder = DATA / f"{size}-{SPACE.digest}-{FORM}"
    path = folder / "store.db"
    if (folder / "whole").exists():
        return path, float((folder / "whole").read_text())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store, data = SqliteStore(path, durability="normal"), Records(1)
    started = time.perf_counter()
    for start in range(0, size, 1000):
        numbers = range(start, min(size, start + 1000))
        with store.transaction(*{_home(number) for number in numbers}):
            for number in numbers:
                organization = _home(number)
                user = "owner" if number % 100 == 50 else None
                memory, vectors = data.next(organization, user)
                store.put(memory)
                store.put_vectors(Memory, organization, memory.id, SPACE, vectors)
    for organization in (MAIN, PART, FEW):
        store.nearest(Memory, at(organization), SPACE, data.vectors(1)[0], 10)
    store.close()
    took = time.perf_counter() - started
    (folder / "whole").write_text(str(took))
    return path, took


WARM = 5


def inserts(durability: Literal["full", "normal"], count: int) -> dict[str, float]:
    """Measure writes of one memory with all that belongs to it."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        store, data = SqliteStore(Path(folder) / "store.db", durability=durability), Records(2)
        made = [data.next(MAIN, None) for _ in range(count)]
        wall, used = [], time.process_time()
        for memory, vectors in made:
            with stopwatch() as watch:
                remember(store, memory, vectors)
            wall.append(watch.wall * 1e3)
        cpu = (time.process_time() - used) * 1e3 / count
        store.close()
    return {
        "p50": statistics.median(wall),
        "p99": float(np.percentile(wall, 99)),
        "cpu": cpu,
        "fsync_alone_p50": fsync_alone() if durability == "full" else 0.0,
    }


def searches(store: SqliteStore, where: Filter, rounds: int) -> dict[str, float]:
    """Measure vector, text and hybrid search for the best fifty of each."""
    near = list(vector_queries(rounds + WARM, 3))
    asked = [parse_query(text) for text in text_queries(rounds + WARM, 4)]

    def vector(number: int) -> None:
        store.nearest(Memory, where, SPACE, near[number], 50)

    def text(number: int) -> None:
        store.match(Memory, where, asked[number], 50)

    def hybrid(number: int) -> None:
        vector(number)
        text(number)

    found: dict[str, float] = {}
    for name, work in (("vector", vector), ("text", text), ("hybrid", hybrid)):
        took = timed(work, rounds, warm=WARM)
        found |= {
            f"{name}_p50": took.p50,
            f"{name}_p95": float(np.percentile(took.wall, 95)),
            f"{name}_cpu": took.cpu,
        }
    return found


def recall(store: SqliteStore, path: Path, wheres: dict[str, Filter]) -> dict[str, float]:
    """Compare the ten nearest with those of a scan over every vector, as the tables hold them."""
    queries = vector_queries(100, 5)
    shares = {}
    for name, where in wheres.items():
        best = _exact(path, where, queries)
        same = 0
        for query, expected in zip(queries, best, strict=True):
            found = store.nearest(Memory, where, SPACE, query, 10)
            same += len({c.id for c in found} & set(expected))
        shares[name] = same / sum(map(len, best))
    return shares


def second_process(path: Path, rounds: int) -> dict[str, float]:
    """Measure the first searches after another process's write was acknowledged."""
    store = SqliteStore(path)
    writer = _process(WRITER, path, stdin=subprocess.PIPE)
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdout.readline()
    near, found = [], []
    query = vector_queries(1, 6)[0]
    store.nearest(Memory, at(MAIN), SPACE, query, 10)
    for number in range(rounds):
        writer.stdin.write(f"marker{time.time_ns()} {number}\n")
        writer.stdin.flush()
        id = writer.stdout.readline().strip()
        with stopwatch() as watch:
            store.nearest(Memory, at(MAIN), SPACE, query, 10)
        near.append(watch.wall * 1e3)
        memory = store.get(Memory, MAIN, id)
        assert isinstance(memory, Memory)
        asked = parse_query(memory.content.split()[0])
        with stopwatch() as watch:
            matches = store.match(Memory, at(MAIN), asked, 10)
        found.append(watch.wall * 1e3)
        assert id in [candidate.id for candidate in matches]
        kept = store.vectors(Memory, MAIN, id)
        assert kept is not None
        nearest = store.nearest(Memory, at(MAIN), SPACE, _unit(kept[1])[0], 1)
        assert [candidate.id for candidate in nearest] == [id]
    writer.communicate()
    store.close()
    return {"vector_p50": statistics.median(near), "text_p50": statistics.median(found)}


def measure(size: int, rounds: int) -> dict[str, Any]:
    """Measure everything that depends on the size."""
    path, built = build(size)
    fresh = [json.loads(_process(FRESH, path).communicate()[0]) for _ in range(3)]
    opened = {key: statistics.median(run[key] for run in fresh) for key in fresh[0]}
    wheres = {
        "all": at(MAIN),
        "user of 1 %": _owned(),
        "organization of 1 %": at(PART),
        "organization of 0.01 %": at(FEW),
    }
    store = SqliteStore(path)
    found: dict[str, Any] = {
        "records": {name: store.count(Memory, where) for name, where in wheres.items()},
        "build": {"each_ms": built * 1e3 / size, "disk_mb": store.upkeep.size() / 1e6},
        "open": opened,
        "search": {name: searches(store, where, rounds) for name, where in wheres.items()},
        "recall_at_10": recall(store, path, wheres),
        "other": _others(store),
    }
    store.close()
    found["second process"] = second_process(path, 20)
    return found


def run(sizes: list[int], writes: int, rounds: int) -> dict[str, Any]:
    """Measure all."""
    DATA.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {
        "machine": {"cpus": os.cpu_count(), "load": os.getloadavg()[0]},
        "insert": {
            "full": inserts("full", writes),
            "normal": inserts("normal", writes),
        },
    }
    for size in sizes:
        results[str(size)] = measure(size, rounds)
    return results


def resident_mb() -> float:
    """Return the process's resident memory, mapped files included."""
    return _status("/proc/self/status", "VmRSS:")


def private_mb() -> float:
    """Return the part of it that other processes cannot share."""
    return _status("/proc/self/status", "RssAnon:")


def _others(store: SqliteStore) -> dict[str, float]:
    """Measure the small reads that services make all the time."""
    some = store.find(Memory, at(MAIN), limit=200)
    ids = [record.id for record in some]
    here, everywhere = at(MAIN), [Filter(organization=name) for name in (MAIN, PART, FEW)]
    middle = sum(store.count(Memory, where) for where in everywhere) // 2
    works: dict[str, Callable[[int], object]] = {
        "get": lambda n: store.get(Memory, MAIN, ids[n % len(ids)]),
        "newest_20": lambda _: store.find(Memory, here, order=["-ingestion_time"], limit=20),
        "page_in_the_middle": lambda _: store.page(
            Memory, everywhere, order=["-ingestion_time"], limit=20, offset=middle
        ),
        "count again": lambda _: store.count(Memory, everywhere[0]),
        "count": lambda _: store.count(Memory, here),
        "organizations": lambda _: store.organizations(),
        "sequence": lambda _: store.sequence(MAIN),
        "without_vectors": lambda _: store.without_vectors([Memory], SPACE, 32, [MAIN]),
    }
    return {f"{name}_p50": timed(work, 30).p50 for name, work in works.items()}


def _owned() -> Filter:
    return Filter(organization=MAIN, valid_at=NOW, equal={"user": "owner"})


def _home(number: int) -> str:
    if number % 10_000 == 1:
        return FEW
    return PART if number % 100 == 2 else MAIN


def _exact(path: Path, where: Filter, queries: Vectors) -> list[list[str]]:
    """Rank by brute force over the vectors as they are kept."""
    best: list[list[tuple[float, str]]] = [[] for _ in queries]
    for ids, rows in _kept(path, where):
        cosines = rows @ queries.T / np.linalg.norm(rows, axis=1)[:, None]
        for column, ranked in enumerate(best):
            top = np.argsort(-cosines[:, column])[:10]
            ranked += [(-float(cosines[place, column]), ids[place]) for place in top]
    return [[id for _, id in sorted(ranked)[:10]] for ranked in best]


def _kept(path: Path, where: Filter) -> Iterator[tuple[list[str], Vectors]]:
    """Read ids and vectors from the tables, thousands at a time."""
    owner = where.equal.get("user")
    connection = apsw.Connection(str(path))
    cursor = connection.execute(
        "SELECT r.id, v.vectors FROM memories AS r JOIN memories_vectors AS v ON v.row = r.row"
        " WHERE r.organization = (SELECT number FROM organizations WHERE name = ?)"
        + (" AND r.user = ?" if owner else ""),
        (where.organization, *([str(owner)] if owner else [])),
    )
    while found := [row for row, _ in zip(cursor, range(20_000), strict=False)]:
        blob = b"".join(cast("bytes", vectors) for _, vectors in found)
        rows = np.frombuffer(blob, np.float16).reshape(-1, SPACE.dimensions)
        yield [str(id) for id, _ in found], rows.astype(np.float32)
    connection.close()


def fsync_alone() -> float:
    """Measure what the disk itself takes to keep twelve pages."""
    wall = []
    with tempfile.TemporaryFile(dir=DATA) as file:
        for _ in range(200):
            with stopwatch() as watch:
                file.write(bytes(12 * 4096))
                file.flush()
                os.fdatasync(file.fileno())
            wall.append(watch.wall * 1e3)
    return statistics.median(wall)


def _process(code: str, path: Path, stdin: int | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
    )


def _status(path: str, field: str) -> float:
    for line in Path(path).read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


@cache
def _levels() -> list[Vectors]:
    """Draw the subjects, their parts, the parts of these and so on, coarse to fine."""
    drawn = np.random.default_rng(0)
    strengths = np.arange(1, SPACE.dimensions + 1, dtype=np.float32) ** np.float32(-FALL)
    strengths /= np.sqrt((strengths**2).sum())
    levels = [
        drawn.standard_normal((BRANCHES**level, SPACE.dimensions), np.float32) * strengths
        for level in range(1, LEVELS + 1)
    ]
    common = _unit(drawn.standard_normal((1, SPACE.dimensions), np.float32))
    return [np.float32(OFFSET) * common, *levels, strengths]


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    return unit


def _print(name: str, figures: Any, depth: int = 0) -> None:
    if not isinstance(figures, dict):
        print(f"{'  ' * depth}{name:<30}{figures:>12.4g}")
        return
    if all(not isinstance(value, dict) for value in figures.values()):
        line = "  ".join(f"{key} {value:.4g}" for key, value in figures.items())
        print(f"{'  ' * depth}{name:<26} {line}")
        return
    print(f"{'  ' * depth}{name}")
    for key, value in figures.items():
        _print(key, value, depth + 1)


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description="Measure the store.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--quick", action="store_true", help="2,000 records, few rounds")
    given = parser.parse_args()
    results = run([2_000], 200, 20) if given.quick else run(given.sizes, 3_000, 200)
    _print("store", results)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    name = "store-quick.json" if given.quick else RESULTS.name
    RESULTS.with_name(name).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
