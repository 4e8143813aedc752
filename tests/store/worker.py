"""What other processes do to a store: `python -m tests.store.worker ENGINE ACT FOLDER ARGUMENT`.

Each line that it prints is something that was acknowledged.
"""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minutebook.record.errors import StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import Head, Kind, Memory, Role
from minutebook.record.trust import trail
from minutebook.store.protocol import Tended
from minutebook.store.values import Vectors
from tests.store.engine import engine_named
from tests.store.samples import SPACES, START, memory, version
from tests.store.small_index import SMALL, make

ACME = Filter(organization="acme")


def direction(number: int) -> Vectors:
    """Return one of a million unit vectors, by number."""
    drawn = np.random.default_rng(number).standard_normal(4)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def remember(store: Tended, id: str, number: int, padding: str = "") -> None:
    """Keep a memory with its version, vectors and entry, as services do."""
    with store.transaction("acme"):
        store.put(memory(id, f"number{number} of many {padding}"))
        store.put(version(id))
        store.put_vectors(Memory, "acme", id, SPACES[0], direction(number)[None])
        last = store.get(Head, "acme", trail.HEAD)
        assert last is None or isinstance(last, Head)
        act = trail.Act(
            actor="ana",
            role=Role.AGENT,
            act="write",
            subject_kind=Kind.MEMORY,
            subject=id,
            request="",
        )
        entry = trail.sealed("acme", last, act, START)
        store.put(entry)
        store.put(trail.head_of(entry))


def write(store: Tended, argument: str) -> None:
    """Remember NAME:COUNT numbered memories, and search now and then so that indices are saved."""
    name, count = argument.split(":")
    for number in range(int(count)):
        remember(store, f"{name}{number:04}", number)
        _say(f"{name}{number:04}")
        if number % 5 == 0:
            store.nearest(Memory, ACME, SPACES[0], direction(number), 5)


def serve(store: Tended, _: str) -> None:
    """Remember each id that comes in by standard input; a `-` before it deletes."""
    _say("ready")
    for line in sys.stdin:
        id = line.strip()
        if id.startswith("-"):
            store.delete(Memory, "acme", id[1:])
        else:
            remember(store, id, int(id))
        _say(id)


def outgrow(store: Tended, argument: str) -> None:
    """Remember ever more until the disk, or the size that files may have, is used up."""
    if argument != "disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(argument), int(argument)))
    for number in range(100_000):
        try:
            remember(store, f"{number:06}", number, padding="long " * 2000)
        except StoreError as error:
            _say(f"StoreError {error.reason}")
            break
        _say(f"{number:06}")
    assert store.get(Memory, "acme", "000000") is not None


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


ACTS: dict[str, Callable[[Tended, str], None]] = {
    "write": write,
    "serve": serve,
    "outgrow": outgrow,
}

if __name__ == "__main__":
    make(SMALL)
    engine, act, folder, argument = sys.argv[1:]
    store = engine_named(engine).open(Path(folder))
    ACTS[act](store, argument)
    store.close()
