"""Time what is measured, sum it up, and show it with its method: the same for every benchmark."""

import argparse
import hashlib
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.store.sqlite.schema import SCRIPTS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DATA = Path(tempfile.gettempdir()) / "minutebook-benchmarks"
"""Data sets and peers are kept here and used again."""

FORM = hashlib.sha256("".join(SCRIPTS).encode()).hexdigest()[:8]
"""The form of the store's tables: a filled store that is used again is of this form."""

Cell = str | int | float | None | tuple[float, float, float]
"""None is what was not measured; three numbers are a mean and the ends of its interval."""


class NotThere(Exception):
    """Something that is measured beside others cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long each of some calls took, in milliseconds, and the mean CPU time of one."""

    wall: tuple[float, ...]
    cpu: float

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.wall)

    @property
    def p99(self) -> float:
        """What one call in a hundred exceeds."""
        return float(np.percentile(self.wall, 99))


@dataclass(slots=True)
class Stopwatch:
    """Wall and CPU seconds of a piece of work, once it has ended."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time what is done inside."""
    watch = Stopwatch()
    wall, cpu = time.perf_counter(), time.process_time()
    yield watch
    watch.wall, watch.cpu = time.perf_counter() - wall, time.process_time() - cpu


@dataclass(frozen=True, slots=True)
class Table:
    """Some figures and what they are; `note` says what a reader must know to compare them."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""


def timed(
    work: Callable[[int], object],
    rounds: int,
    cpu: Callable[[], float] = time.process_time,
    *,
    warm: int = 3,
) -> Timing:
    """Call `work` with the numbers of the warm-up and then of `rounds` measured calls.

    `cpu` tells the CPU seconds used so far by whoever does the work.
    """
    return timed_in_turn({"work": (work, cpu)}, rounds, warm=warm)["work"]


def timed_in_turn(
    works: Mapping[str, tuple[Callable[[int], object], Callable[[], float]]],
    rounds: int,
    *,
    warm: int = 3,
) -> dict[str, Timing]:
    """Do the same with several works, one call of each a round, so that all meet the same weather."""
    wall: dict[str, list[float]] = {name: [] for name in works}
    used = dict.fromkeys(works, 0.0)
    for number in range(warm + rounds):
        for name, (work, cpu) in works.items():
            before, started = cpu(), time.perf_counter()
            work(number)
            took = time.perf_counter() - started
            if number >= warm:
                wall[name].append(took * 1e3)
                used[name] += cpu() - before
    return {name: Timing(tuple(wall[name]), used[name] * 1e3 / rounds) for name in works}


def apart(whole: Timing, *parts: Timing) -> float:
    """Return the median of what is left of each call without its parts, all taken in turn."""
    others = [sum(took) for took in zip(*(part.wall for part in parts), strict=True)]
    left: list[float] = [one - other for one, other in zip(whole.wall, others, strict=True)]
    return statistics.median(left)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process, NaN where the system has no such clock."""
    if platform.system() != "Linux":
        return float("nan")
    # The kernel's number for the scheduler's clock of another process, see clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


def pss(pid: int) -> float:
    """Return the MB of memory of a process, what it shares with others split; NaN off Linux."""
    if platform.system() != "Linux":
        return float("nan")
    told = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    line = next(each for each in told.splitlines() if each.startswith("Pss:"))
    return int(line.split()[1]) * 1024 / 1e6


@contextmanager
def opened(home: Path) -> Iterator[App]:
    """Open a store of its own with the built-in model."""
    app = open_app(settings_with(home=home, durability="normal"))
    try:
        app.embedding.wait()
        yield app
    finally:
        app.close()


def machine() -> dict[str, str]:
    """Say on what the figures were measured."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load before": load,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def publish(
    name: str, method: Mapping[str, object], tables: Sequence[Table], *, quick: bool
) -> None:
    """Print the method and the tables, and write them as JSON."""
    for key, value in method.items():
        print(f"{key + ':':<14} {value}")
    for table in tables:
        print("", table.title, *_lines(table), sep="\n")
        if table.note:
            print(f"({table.note})")
    told = [
        {
            "title": table.title,
            "note": table.note,
            "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        }
        for table in tables
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}{'-quick' if quick else ''}.json"
    whole = {"method": {key: str(value) for key, value in method.items()}, "tables": told}
    path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def asked(description: str) -> argparse.ArgumentParser:
    """Return the parser that every benchmark starts from."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short form; installs nothing")
    return parser


def _lines(table: Table) -> list[str]:
    cells = [list(table.columns), *([_shown(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [
        all(not isinstance(cell, str) for cell in column)
        for column in zip(*table.rows, strict=True)
    ] or [False] * len(widths)
    return [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]


def _shown(cell: Cell) -> str:
    match cell:
        case None:
            return "–"
        case tuple():
            mean, low, high = cell
            return f"{mean:.1f} [{low:.1f}, {high:.1f}]"
        case float():
            return f"{cell:.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
        case _:
            return str(cell)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
