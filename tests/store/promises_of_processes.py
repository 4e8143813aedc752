"""Several processes, killed processes: what was acknowledged is there, and only whole."""

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, cast

import pytest

from minutebook.record.records import Entry, Head, Memory, Version
from minutebook.record.trust import trail
from minutebook.text.words import parse_query
from tests.store.engine import Engine
from tests.store.samples import SPACES
from tests.store.small_index import small_index
from tests.store.worker import ACME, direction

ROOT = Path(__file__).resolve().parents[2]


class ProcessPromises:
    """Inherit it and say which engine it is."""

    engine: ClassVar[Engine]

    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def sizes() -> Iterator[None]:
        with small_index():
            yield

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Iterator[Path]:
        """Name the folder of a store that no process has opened yet."""
        folder = tmp_path / "store"
        yield folder
        self.engine.discard(folder)

    def test_what_one_process_writes_another_finds_at_once(self, folder: Path) -> None:
        with self.worker("serve", folder) as other:
            _next(other)
            store = self.engine.open(folder)
            for number in range(30):
                id = f"{number:04}"
                _tell(other, id)
                near = store.nearest(Memory, ACME, SPACES[0], direction(number), 1)
                assert [c.id for c in near] == [id]
                found = store.match(Memory, ACME, parse_query(f"number{number}"), 9)
                assert found[0].id == id
                if number % 3 == 0:
                    _tell(other, f"-{id}")
                    near = store.nearest(Memory, ACME, SPACES[0], direction(number), 99)
                    assert id not in [c.id for c in near]
                    assert store.get(Memory, "acme", id) is None
            assert self.engine.faults(store) == []
            store.close()

    @pytest.mark.parametrize(
        "each", [6, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.cold_start])]
    )
    def test_eight_processes_start_cold_and_write_at_once_and_nothing_is_lost(
        self, folder: Path, each: int
    ) -> None:
        workers = [self.start("write", folder, f"{name}:{each}") for name in "abcdefgh"]
        for worker in workers:
            out, err = worker.communicate()
            assert (worker.returncode, err) == (0, "")
            assert len(out.splitlines()) == each
        expected = {f"{name}{number:04}" for name in "abcdefgh" for number in range(each)}
        self.check_whole(folder, expected, expected)

    @pytest.mark.parametrize(
        "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 15))]
    )
    def test_a_kill_at_any_instant_loses_nothing_acknowledged(
        self, folder: Path, seed: int
    ) -> None:
        chance = random.Random(seed)
        acknowledged: set[str] = set()
        for life in range(2):
            workers = [self.start("write", folder, f"{name}{life}:100000") for name in "xy"]
            heard = [_read(worker, chance.randrange(1, 40)) for worker in workers]
            for worker in workers:
                worker.kill()
            for worker, lines in zip(workers, heard, strict=True):
                assert worker.stdout is not None
                # First what was read ahead, which `communicate` does not see.
                rest = worker.stdout.read()
                _, err = worker.communicate()
                assert (worker.returncode, err) == (-signal.SIGKILL, "")
                acknowledged |= {*lines, *rest.splitlines()}
        self.check_whole(folder, acknowledged, None)

    def check_whole(
        self, folder: Path, acknowledged: set[str], everything: set[str] | None
    ) -> None:
        """See that all that was acknowledged is there, and nothing by half."""
        store = self.engine.open(folder)
        ids = {record.id for record in store.find(Memory, ACME)}
        assert acknowledged <= ids
        assert everything is None or ids == everything
        assert {f"{id}.1" for id in ids} == {r.id for r in store.find(Version, ACME)}
        entries = cast("list[Entry]", store.find(Entry, ACME, order=["number"]))
        head = cast("Head", store.get(Head, "acme", trail.HEAD))
        assert trail.first_break(entries, [head]) is None
        assert {entry.subject for entry in entries} == ids
        assert store.without_vectors([Memory], SPACES[0], 9) == []
        near = store.nearest(Memory, ACME, SPACES[0], direction(1), len(ids) + 1)
        assert {c.id for c in near} == ids
        found = store.match(Memory, ACME, parse_query("many"), len(ids) + 1)
        assert {c.id for c in found} == ids
        assert self.engine.faults(store) == []
        store.close()

    def start(self, act: str, folder: Path, argument: str = "") -> subprocess.Popen[str]:
        """Start a process that does an act of tests/store/worker.py."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.store.worker", self.engine.name, act, folder, argument],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def worker(self, act: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
        worker = self.start(act, folder)
        try:
            yield worker
        finally:
            worker.communicate(timeout=60)


def _tell(worker: subprocess.Popen[str], line: str) -> None:
    assert worker.stdin is not None
    worker.stdin.write(line + "\n")
    worker.stdin.flush()
    assert _next(worker) == line


def _next(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def _read(worker: subprocess.Popen[str], lines: int) -> list[str]:
    return [_next(worker) for _ in range(lines)]
