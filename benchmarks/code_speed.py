"""How fast code is read, embedded, read again and searched, and in how much memory.

What reads without vectors is a process of its own (`benchmarks/reading.py`), so that its memory is
that of reading alone. All else happens to a copy of the filled store.
"""

import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.measure import DATA, ROOT, Table, Timing, opened, stopwatch, timed
from benchmarks.reading import SETTLED, again, change, memory
from minutebook.app import App
from minutebook.config import settings_with
from minutebook.features.code.projects import Projects
from minutebook.memory.jobs import stopping
from minutebook.record.caller import with_call
from minutebook.record.errors import Conflict
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.knowledge import knowledge

SMALL_FILES = 100_000
CHANGED = "textwrap.py"
BLOCKS, QUICK_BLOCKS = 3, 1
ROUNDS, QUICK_ROUNDS = 20, 3
"""Searches of a block."""

WORDS = (
    *("read", "write", "close", "parse", "format", "copy", "remove", "split", "encode", "compare"),
    *("file", "line", "path", "text", "header", "option", "message", "number", "key", "module"),
)

Row = tuple[str | int | float | None, ...]


def tables(home: Path, library: Path, *, quick: bool) -> list[Table]:
    """Measure everything; the short form reads what was filled, the long one the whole library."""
    folders = {"the corpus": (library, CHANGED)}
    if not quick:
        folders = {
            "the standard library": (_standard_library(), CHANGED),
            f"{SMALL_FILES:,} small files": (_small_files(SMALL_FILES), "0/0.py"),
        }
    readings = {name: _read(folder, file) for name, (folder, file) in folders.items()}
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(home, Path(scratch) / "home")
        own, others = Path(scratch) / "library", Path(scratch) / "others"
        for folder in (own, others):
            shutil.copytree(library, folder)
        first = timed(lambda n: _first_query(copy), 1 if quick else 5, warm=0 if quick else 1)
        with opened(copy) as app:
            changed = _with_vectors(app, own)
            blocks, rounds = (QUICK_BLOCKS, QUICK_ROUNDS) if quick else (BLOCKS, ROUNDS)
            searched = _beside(app, own, others, blocks, rounds)
            vectors = _embedding(app, 1 if quick else 6)
    return [
        _reading_table(readings),
        _again_table(readings, changed),
        _searching_table(first, searched, vectors),
    ]


@dataclass(frozen=True, slots=True)
class Vectors:
    """How many texts were embedded and written, in how many seconds, of wall time and of CPU."""

    count: int
    seconds: float
    cpu: float


def question(number: int) -> str:
    """Return a question that was never asked, so that no vector of it is cached."""
    verb, noun = WORDS[number % 10], WORDS[10 + number // 10 % 10]
    return f"how to {verb} a {noun} {number}"


def _read(folder: Path, changed: str) -> dict[str, Any]:
    """Read a folder in a process of its own; its figures and the bytes of what there is to read."""
    with tempfile.TemporaryDirectory() as home:
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "benchmarks.reading",
            folder,
            home,
            changed,
        ]
        told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    figures: dict[str, Any] = json.loads(told.stdout)
    return figures


def _standard_library() -> Path:
    """Return a copy of the whole library, tests too, that may be changed."""
    folder = DATA / f"code-library-{sys.version_info.major}.{sys.version_info.minor}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=DATA) as scratch:
            skipped = shutil.ignore_patterns("site-packages", "dist-packages", "__pycache__", "*.a")
            copy = Path(scratch) / "copy"
            shutil.copytree(sysconfig.get_path("stdlib"), copy, ignore=skipped)
            copy.rename(folder)
    return folder


def _small_files(number: int) -> Path:
    """Return a folder of many files, a hundred to a folder, each of two small functions."""
    folder = DATA / f"code-small-{number}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=DATA) as scratch:
            for at in range(number):
                file = Path(scratch) / "files" / str(at // 100) / f"{at % 100}.py"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(
                    f"def first_{at}(value):\n    return value + {at}\n\n\n"
                    f"def second_{at}(value):\n    return first_{at}(value) * {at}\n",
                    encoding="utf-8",
                )
            (Path(scratch) / "files").rename(folder)
    return folder


def _first_query(home: Path) -> None:
    command: list[str | Path] = [
        sys.executable,
        "-P",
        "-m",
        "minutebook",
        "code",
        question(0),
        "--home",
        home,
        "--json",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _with_vectors(app: App, library: Path) -> list[float]:
    """Change one file some times and index it with its vectors; milliseconds of each."""
    caller = settings_with().caller()
    (project,) = app.get(Projects).indexed(caller)
    app.infrastructure.store.put(replace(project, path=str(library)))
    index = partial(app.get(Projects).index, caller, str(library), None)
    index()
    time.sleep(SETTLED)
    index()
    return again(index, change(library / CHANGED))


def _beside(app: App, library: Path, others: Path, turns: int, rounds: int) -> Mapping[str, Timing]:
    """Search while nothing else happens, while vectors are made, and while files are read.

    In blocks that take turns, so that all meet the same weather.
    """
    contract, numbers = knowledge(), count()
    app.get(Projects).index(settings_with().caller(), str(others), 0.0)
    works: dict[str, Callable[[threading.Event], object]] = {
        "nothing": lambda stop: stop.wait(),
        "vectors are made": app.embeddings.backfill,
        "files are read": partial(_reading, app, library.with_name("more")),
    }
    shutil.copytree(library, library.with_name("more"))
    blocks: dict[str, list[Timing]] = {name: [] for name in works}
    for _ in range(turns):
        for name, work in works.items():
            with _at_work(work):
                search = timed(
                    lambda n: _search(app, contract, question(next(numbers))), rounds, warm=1
                )
            blocks[name].append(search)
    return {
        name: Timing(
            tuple(took for each in own for took in each.wall), mean(each.cpu for each in own)
        )
        for name, own in blocks.items()
    }


@contextmanager
def _at_work(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """Do something in another thread meanwhile."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        # The model, or the parser, is at it before the first question comes.
        time.sleep(0.2)
        yield
    finally:
        stop.set()
        thread.join()


def _reading(app: App, folder: Path, stop: threading.Event) -> None:
    """Read a folder as if it was never read, over and over."""
    caller = with_call(settings_with().caller(), progress=stopping(stop))
    while not stop.is_set():
        try:
            project = app.get(Projects).index(caller, str(folder), 0.0).progress.project
            app.get(Projects).forget(caller, project)
        except Conflict:
            return


def _search(app: App, contract: Contract, query: str) -> None:
    answer = contract.call(app, settings_with().caller(), "search_code", {"query": query})
    if answer.content is None:
        raise RuntimeError(answer.error)


def _embedding(app: App, batches: int) -> Vectors:
    with stopwatch() as watch:
        made = sum(app.embeddings.backfill_batch() for _ in range(batches))
    return Vectors(made, watch.wall, watch.cpu)


def _reading_table(readings: Mapping[str, Mapping[str, Any]]) -> Table:
    rows: list[Row] = []
    for name, told in readings.items():
        for clock in ("wall", "CPU"):
            took = told[clock]
            rows.append(
                (
                    *(name, told["files"], told["megabytes"], told["chunks"], clock, took),
                    *(told[each] / took for each in ("files", "megabytes", "chunks")),
                    told["growth"] if clock == "wall" else None,
                )
            )
    return Table(
        "reading, without vectors",
        (
            *("what", "files", "MB", "chunks", "clock", "seconds"),
            *("files/s", "MB/s", "chunks/s", "memory +MB"),
        ),
        rows,
        "cut, written with full durability, findable by words; memory: the most it had above "
        "what it had before, reading again included",
    )


def _again_table(readings: Mapping[str, Mapping[str, Any]], changed: list[float]) -> Table:
    rows: list[Row] = [
        (name, what, median(told[what]), min(told[what]))
        for name, told in readings.items()
        for what in ("nothing changed", "one file changed")
    ]
    rows.append(("the corpus", "one file changed, vectors too", median(changed), min(changed)))
    return Table("read again", ("what", "change", "p50", "least"), rows)


def _searching_table(first: Timing, searched: Mapping[str, Timing], vectors: Vectors) -> Table:
    idle = searched["nothing"].p50
    rows: list[Row] = [("a first search: process, store, model", first.p50, None, None)]
    rows += [
        (f"a search while {name}", each.p50, each.p99, each.p50 / idle)
        for name, each in searched.items()
    ]
    return Table(
        "searches",
        ("what", "p50", "p99", "× idle"),
        rows,
        f"{vectors.count} texts embedded and written alone: {vectors.count / vectors.seconds:.1f} a "
        f"second, {vectors.count / vectors.cpu:.1f} a CPU second; the process then has "
        f"{memory('VmRSS'):.0f} MB",
    )
