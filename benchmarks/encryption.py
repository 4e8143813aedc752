"""What encryption at rest costs: one store plain and encrypted, asked and written in turn, in one run.

The store is that of `benchmarks.store` with 10,000 records (60 words and a vector of 384 dimensions each), copied
and encrypted. Each round does the same on both sides, one after the other. Opening is a fresh process that
opens the store and searches once, its index in files. CPU time is that of all threads of the process.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

from benchmarks import store as bench
from benchmarks.measure import DATA, Table, asked, machine, publish, stopwatch, timed_in_turn
from minutebook.record.records import Memory
from minutebook.store.disk.encryption import Key, decrypting, encrypting
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.encryption import copied_with_key
from minutebook.text.words import parse_query

KEY = Key(bytes(range(32)))
SIDES = ("plain", "encrypted")

FRESH = """
import sys, time, json
from pathlib import Path
from benchmarks import encryption, store as bench
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
query = bench.vector_queries(1, 9)[0]
cpu = time.process_time()
store = bench.SqliteStore(Path(sys.argv[1]), keys=encryption.OneKey())
opened = time.process_time() - cpu
store.nearest(bench.Memory, bench.at(bench.MAIN), bench.SPACE, query, 50)
searched = time.process_time() - cpu
print(json.dumps([opened * 1e3, searched * 1e3]))
store.close()
"""


class OneKey:
    """Finds the benchmark's key, whatever is asked for."""

    def find(self, id: str, for_what: str) -> Key:
        return KEY


def copied(size: int, folder: Path) -> tuple[dict[str, Path], float]:
    """Copy the data set plain and encrypted, with indices in files; give the CPU seconds of encrypting."""
    source, _ = bench.build(size)
    paths = {side: folder / side / "store.db" for side in SIDES}
    shutil.copytree(source.parent, folder / "plain")
    (folder / "encrypted").mkdir()
    with stopwatch() as watch, copied_with_key(paths["plain"], None, paths["encrypted"], KEY):
        pass
    for path in paths.values():
        with closing(opened(path)) as store:
            store.upkeep.rebuild()
    return paths, watch.cpu


def opened(path: Path) -> SqliteStore:
    """Open one side."""
    return SqliteStore(path, durability="normal", keys=OneKey())


def reading(stores: dict[str, SqliteStore], rounds: int) -> list[tuple[str | float, ...]]:
    """Measure searches and reads on both sides in turn."""
    near = list(bench.vector_queries(rounds + bench.WARM, 3))
    words = [parse_query(text) for text in bench.text_queries(rounds + bench.WARM, 4)]
    where = bench.at(bench.MAIN)
    ids = [each.id for each in stores["plain"].find(Memory, where, limit=rounds + bench.WARM)]

    def vector(store: SqliteStore, number: int) -> None:
        store.nearest(Memory, where, bench.SPACE, near[number], 50)

    def text(store: SqliteStore, number: int) -> None:
        store.match(Memory, where, words[number], 50)

    def recall(store: SqliteStore, number: int) -> None:
        vector(store, number)
        text(store, number)
        for place in range(10):
            store.get(Memory, bench.MAIN, ids[(number * 97 + place * 31) % len(ids)])

    acts: dict[str, Callable[[SqliteStore, int], None]] = {
        "search by meaning, best 50": vector,
        "search by words, best 50": text,
        "recall: both, and 10 records read": recall,
    }
    return [row(name, stores, work, rounds) for name, work in acts.items()]


def writing(stores: dict[str, SqliteStore], rounds: int) -> tuple[str | float, ...]:
    """Measure the write of a memory with version, text, vector and audit entry, on both sides in turn."""
    data = {side: bench.Records(77, 10**6) for side in stores}
    made = {
        id(store): [data[side].next(bench.MAIN, None) for _ in range(rounds + bench.WARM)]
        for side, store in stores.items()
    }
    return row(
        "write of a memory",
        stores,
        lambda store, number: bench.remember(store, *made[id(store)][number]),
        rounds,
    )


def row(
    name: str,
    stores: dict[str, SqliteStore],
    work: Callable[[SqliteStore, int], None],
    rounds: int,
) -> tuple[str | float, ...]:
    """Time one act on both sides; a row of the table."""
    import time

    works = {
        side: ((lambda n, s=store: work(s, n)), time.process_time) for side, store in stores.items()
    }
    took = timed_in_turn(works, rounds, warm=bench.WARM)
    plain, other = took["plain"], took["encrypted"]
    return (name, plain.cpu, other.cpu, other.cpu / plain.cpu, plain.p50, other.p50)


def opening(paths: dict[str, Path], rounds: int) -> list[tuple[str | float, ...]]:
    """Measure fresh processes, one of each side in turn."""
    told: dict[str, list[list[float]]] = {side: [] for side in paths}
    for _ in range(rounds):
        for side, path in paths.items():
            command = [sys.executable, "-c", FRESH, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            told[side].append(json.loads(done.stdout))
    names = ("open, CPU ms", "open and first search, CPU ms")
    middle = {
        side: [median(column) for column in zip(*rows, strict=True)] for side, rows in told.items()
    }
    return [
        (name, middle["plain"][place], middle["encrypted"][place])
        for place, name in enumerate(names)
    ]


def files(folder: Path, megabytes: int) -> list[tuple[str | float, ...]]:
    """Measure the file form of backups, archives and indices."""
    content, path = bytes(1 << 20), folder / "file"
    with stopwatch() as written, path.open("wb") as file, encrypting(file, KEY) as inside:
        for _ in range(megabytes):
            inside.write(content)
    with (
        stopwatch() as read,
        path.open("rb") as kept,
        decrypting(kept, "it", OneKey()) as content_of,
    ):
        while content_of.read(1 << 20):
            pass
    return [("write", written.cpu / megabytes * 1e3), ("read", read.cpu / megabytes * 1e3)]


def _megabytes(path: Path) -> float:
    found = [each for each in path.parent.rglob("*") if not each.name.endswith(("-wal", "-shm"))]
    return sum(each.stat().st_size for each in found if each.is_file()) / 1e6


def main() -> None:
    quick = asked(__doc__ or "").parse_args().quick
    size, rounds = (1000, 20) if quick else (10_000, 300)
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as name, ExitStack() as stack:
        folder = Path(name)
        paths, converted = copied(size, folder)
        begun = opening(paths, 2 if quick else 7)
        stores = {side: stack.enter_context(closing(opened(paths[side]))) for side in SIDES}
        rows = [writing(stores, rounds), *reading(stores, rounds)]
        sizes = [(side, _megabytes(path)) for side, path in paths.items()]
        tables = [
            Table(
                f"What one act costs at {size:,} records",
                ("act", "plain, CPU ms", "encrypted", "ratio", "plain, wall ms", "encrypted"),
                rows,
            ),
            Table("A fresh process", ("", "plain", "encrypted"), begun),
            Table("Files, CPU ms a MB", ("act", "encrypted"), files(folder, 16 if quick else 256)),
            Table("Size without the log, MB", ("side", "MB"), sizes),
        ]
        method = {
            **machine(),
            "rounds": rounds,
            "encrypting the store, CPU s": f"{converted:.2f}",
            "method": "one act on each side in turn, in one process; medians and mean CPU time",
        }
        publish("encryption", method, tables, quick=quick)


if __name__ == "__main__":
    main()
