"""kill -9 at every kind of step and at random instants: what was acknowledged stays, the next start mends the rest."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from minutebook.record.records import Memory
from tests.faults.campaign import LONG, chance, report, rounds
from tests.faults.invariants import Acknowledged, check
from tests.faults.kill_cases import CASES, Case
from tests.faults.victims import told
from tests.line_client import tool_call
from tests.serve.daemon.test_process import house_in
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")

ONLY_LONG = {"writer with the real model", "checkpoint of the log", "model derivation"}
"""What costs most, or differs from another in little."""


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ran, or was killed."""

    said: Acknowledged
    ended: bool
    seconds: float


def run(case: Case, folder: Path, name: str, *, step: int = 0, after: float | None = None) -> Run:
    """Run a case's program, killed before a step, or some seconds after it was begun."""
    folder.mkdir(exist_ok=True)
    module, *arguments = case.command(folder, name)
    killed = ["tests.faults.killed", case.points, str(step), module]
    out, err = folder / "stdout", folder / "stderr"
    began = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", *killed, *arguments],
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, "MINUTEBOOK_EMBEDDER": "none", **case.variables},
        )
        try:
            if after is not None:
                time.sleep(after)
                process.kill()
            status = process.wait(300)
        finally:
            process.kill()
    lines = err.read_text(errors="replace")
    assert status in (0, -signal.SIGKILL), lines
    return Run(told(out.read_text()), status == 0, time.monotonic() - began)


def runs(case: Case, times: int, home: Path, by: Random) -> Iterator[Run]:
    """Kill a program again and again, before a step of it or at an instant; check after each."""
    begun, folder = home / "begun", home / "round"
    begun.mkdir()
    known = case.prepare(begun) or Acknowledged()
    seconds = 1.0
    for number in range(times):
        if case.is_fresh and folder.exists():
            shutil.rmtree(folder)
        if not folder.exists():
            shutil.copytree(begun, folder, symlinks=True)
            said = Acknowledged()
            said.include(known)
        name = f"round {number}"
        if number % 3 < 2:
            done = run(case, folder, name, step=by.randint(1, case.steps))
        else:
            done = run(case, folder, name, after=by.uniform(0, seconds))
        if done.ended:
            seconds = done.seconds
        said.include(done.said)
        case.after(folder, said, done.ended)
        yield done


@pytest.mark.parametrize("name", [name for name in CASES if LONG or name not in ONLY_LONG])
def test_what_was_acknowledged_survives_a_kill_and_the_next_start_mends_the_rest(
    name: str, tmp_path: Path
) -> None:
    case, by = CASES[name], chance(name)
    done = list(runs(case, rounds(1, case.rounds), tmp_path, by))
    report(
        "kills",
        name,
        rounds=len(done),
        killed=sum(not each.ended for each in done),
        acknowledged=sum(len(each.said) for each in done),
        lost=0,
        broken=0,
    )


@pytest.mark.slow
def test_writers_beside_ones_that_are_killed_lose_nothing_and_wait_for_no_lock_of_theirs(
    tmp_path: Path,
) -> None:
    case, by, home = CASES["writer of all kinds"], chance("beside"), tmp_path / "home"
    said, killed, survived = Acknowledged(), 0, 0
    number = rounds(1, 25)
    for round in range(number):
        folders = [tmp_path / f"{round}.{writer}" for writer in range(3)]
        steps = [0, *(by.randint(1, case.steps) for _ in folders[1:])]
        with ThreadPoolExecutor() as pool:
            done = list(
                pool.map(
                    lambda place, step: run(beside(case, home), place, place.name, step=step),
                    folders,
                    steps,
                )
            )
        assert done[0].ended
        for each in done:
            said.include(each.said)
            killed += not each.ended
            survived += each.ended
        check(home, said)
    report(
        "kills",
        "two of three writers",
        rounds=number,
        killed=killed,
        acknowledged=len(said),
        lost=0,
        broken=0,
    )


def beside(case: Case, home: Path) -> Case:
    """Return the case with all who run it in one data directory."""
    return replace(case, command=lambda folder, name: case.command(home.parent, name))


def test_a_daemon_that_is_killed_takes_nothing_with_it_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    by, said, killed = chance("daemon"), Acknowledged(), 0
    number = rounds(1, 30)
    with house_in(tmp_path) as house:
        for round in range(number):
            pipes = [house.client() for _ in range(2)]
            for at, pipe in enumerate(pipes):
                for each in range(12):
                    text = f"{round} {at} {each}"
                    pipe.send(tool_call(text, "store_memory", {"content": text}))
            first = [pipe.read() for pipe in pipes]
            time.sleep(by.uniform(0, 0.1))
            for daemon in house.daemons():
                os.kill(daemon["pid"], signal.SIGKILL)
                killed += 1
            for own, pipe in zip(first, pipes, strict=True):
                for answer in (own, *(pipe.read() for _ in range(11))):
                    if "result" in answer:
                        assert not answer["result"]["isError"], answer
                        said.note(Memory, answer["id"])
                    else:
                        assert "not known whether" in answer["error"]["message"]
            for pipe in pipes:
                pipe.process.kill()
                pipe.process.wait()
            for daemon in house.daemons():
                os.kill(daemon["pid"], signal.SIGKILL)
            wait_until(lambda: not house.daemons())
            check(house.home, said)
    report(
        "kills", "daemon", rounds=number, killed=killed, acknowledged=len(said), lost=0, broken=0
    )
