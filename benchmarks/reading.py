"""Index a folder without vectors, as a process of its own, and tell what that took.

`python -m benchmarks.reading FOLDER HOME FILE`; FILE, a path below FOLDER, is changed and put back.
"""

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import stopwatch
from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.code.chunking.files import walk
from minutebook.features.code.projects import Projects

ROUNDS = 5
SETTLED = 2.1
"""Seconds after which a file that was written cannot change unseen, and is not read again."""


def memory(which: str) -> float:
    """Return this process's memory in MB, `VmRSS` (now) or `VmHWM` (peak); NaN off Linux."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return float("nan")
    found = re.search(rf"^{which}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")


def again(index: Callable[[], object], before: Callable[[int], object]) -> list[float]:
    """Index some times more, something done before each; milliseconds of each."""
    took = []
    for number in range(ROUNDS):
        before(number)
        with stopwatch() as watch:
            index()
        took.append(watch.wall * 1e3)
    return took


def change(file: Path) -> Callable[[int], None]:
    """Return a function that replaces the last lines of a file by others at each call."""
    text = file.read_text(encoding="utf-8")

    def put(number: int) -> None:
        file.write_text(f"{text}\n\ndef added():\n    return {number}\n", encoding="utf-8")

    return put


def read(folder: Path, home: Path, changed: Path) -> dict[str, Any]:
    """Read a folder, then again unchanged, and with one file changed."""
    app = open_app(settings_with(home=home, embedder="none"))
    app.embedding.settle()
    caller = settings_with().caller()
    before = memory("VmRSS")
    with stopwatch() as watch:
        progress = app.get(Projects).index(caller, str(folder), 0.0).progress
    told: dict[str, Any] = {
        "wall": watch.wall,
        "CPU": watch.cpu,
        "files": progress.project.indexed_files,
        "chunks": progress.chunks,
    }
    found = walk(folder, Counter())
    told["megabytes"] = sum((folder / file.path).stat().st_size for file in found) / 1e6
    time.sleep(SETTLED)

    def index() -> None:
        app.get(Projects).index(caller, str(folder), 0.0)

    index()
    told["nothing changed"] = again(index, lambda number: None)
    text = changed.read_text(encoding="utf-8")
    told["one file changed"] = again(index, change(changed))
    changed.write_text(text, encoding="utf-8")
    told["growth"] = memory("VmHWM") - before
    app.close()
    return told


if __name__ == "__main__":
    root = Path(sys.argv[1])
    print(json.dumps(read(root, Path(sys.argv[2]), root / sys.argv[3])))
