"""Calls of a client on the stores of `benchmarks.pages`, without transport, and the start of a process there."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.measure import ROOT, Cell
from benchmarks.store import WORDS, Records, text_queries
from minutebook.app import App
from minutebook.record.caller import Caller
from minutebook.serve.contracts.knowledge import knowledge

FRESH = """
import json, sys, time
from pathlib import Path
from benchmarks import pages
from benchmarks.store import private_mb, resident_mb
started, cpu = time.perf_counter(), time.process_time()
with pages.visited(Path(sys.argv[1])) as (_, visitor):
    opened, opened_cpu = time.perf_counter(), time.process_time()
    assert visitor.get("/find?q=kettle")[0] == 200
    wall, used = time.perf_counter(), time.process_time()
    for number in range(5):
        visitor.get(f"/find?q=kettle+{number}")
    print(json.dumps({
        "to open, CPU ms": 1e3 * (opened_cpu - cpu),
        "to open, ms": 1e3 * (opened - started),
        "first question, CPU ms": 1e3 * (used - opened_cpu),
        "first question, ms": 1e3 * (wall - opened),
        "memory of its own, MB": private_mb(),
        "with mapped files, MB": resident_mb(),
    }))
"""

WARM = 3


def first_question(home: Path, runs: int) -> dict[str, float]:
    """Return what a new process takes to open a store and to answer its first question, medians."""
    told = [json.loads(_fresh(home)) for _ in range(runs)]
    return {name: statistics.median(each[name] for each in told) for name in told[0]}


def calls(
    stores: Sequence[tuple[App, App]], caller: Caller, rounds: int
) -> Iterator[tuple[Cell, ...]]:
    """Yield for each call its name and the median processor time at each store, in ms.

    Beside each app stands another on the same store, as of another process, which writes. What was
    written is deleted at the end.
    """
    drawn, questions = Records(21), text_queries(rounds + WARM, 22)
    written: list[tuple[App, str]] = []

    def call(app: App, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        answer = knowledge().call(app, caller, tool, arguments)
        assert answer.content is not None, (tool, answer.error)
        return answer.content

    def store_memory(app: App, _: int) -> None:
        stored = call(app, "store_memory", {"content": " ".join(drawn.words(WORDS))})
        written.append((app, str(stored["id"])))

    def asking(tool: str) -> Callable[[App, int], object]:
        return lambda app, number: call(app, tool, {"query": questions[number]})

    def plainly(tool: str) -> Callable[[App, int], object]:
        return lambda app, _: call(app, tool, {})

    works: dict[str, tuple[Callable[[App, int], object], bool]] = {
        "recall": (asking("recall"), False),
        "recall, after another's write": (asking("recall"), True),
        "search": (asking("search"), False),
        "search_text": (asking("search_text"), False),
        "list_memories": (plainly("list_memories"), False),
        "list_memories, after another's write": (plainly("list_memories"), True),
        "get_status, after another's write": (plainly("get_status"), True),
        "store_memory": (store_memory, False),
    }
    for name, (work, is_after_write) in works.items():
        taken: list[list[float]] = [[] for _ in stores]
        for number in range(rounds + WARM):
            for (app, other), times in zip(stores, taken, strict=True):
                if is_after_write:
                    store_memory(other, number)
                before = time.process_time()
                work(app, number)
                times.append(1e3 * (time.process_time() - before))
        yield (name, *(statistics.median(each[WARM:]) for each in taken))
    for app, id in written:
        call(app, "delete_memory", {"id": id})


def _fresh(home: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", FRESH, str(home)],
        cwd=ROOT,
        env={**os.environ},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
