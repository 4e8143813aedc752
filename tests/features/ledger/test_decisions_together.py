import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.git.history import read_all
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.records import Decision
from tests.features.ledger.decided import AGENT, decisions_in, draft, git, ledger_of
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World

ROOT = Path(__file__).parents[3]
MANY = 8
Process = subprocess.Popen[str]


@contextmanager
def decider(home: Path, name: str, count: int, target: str) -> Iterator[Process]:
    """A process that is ready to decide, ended at the end."""
    command = [
        sys.executable,
        "-m",
        "tests.features.ledger.decider",
        str(home),
        name,
        str(count),
        target,
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def told(process: Process) -> list[tuple[str, str]]:
    """What a process was told, once it has ended."""
    said, _ = process.communicate(timeout=100)
    return [(words[0], words[1]) for line in said.splitlines() if len(words := line.split()) == 2]


def start(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def check_agreed(world: World) -> dict[str, Decision]:
    """Hold Git and the tables to one another; give the decisions."""
    world.app.get(Ledgers).recover()
    ledger, kept = ledger_of(world.app), decisions_in(world.app)
    head = ledger.head()
    assert head is not None
    # What a kill left before the branch moved is named by nothing, and no fault.
    assert git(ledger.path, "fsck", "--strict", "--no-dangling") == ""
    assert {each.id for each in read_all(ledger, head) if isinstance(each, Decision)} == set(kept)
    assert world.app.get(Ledgers).check() == []
    assert all(each.reason is None for each in world.app.get(Ledgers).states())
    assert world.app.trail.verify("default") is None
    return kept


@requirement("ledger/git/concurrent")
def test_eight_processes_decide_on_targets_of_their_own_and_all_succeed(
    opener: Opener, tmp_path: Path
) -> None:
    world = opener()
    with ExitStack() as stack:
        processes = [
            stack.enter_context(decider(tmp_path / "one", f"p{number}", 3, f"target {number}"))
            for number in range(MANY)
        ]
        for process in processes:
            start(process)
        outcomes = [outcome for process in processes for outcome in told(process)]
    assert [word for word, _ in outcomes] == ["made"] * MANY * 3
    assert set(check_agreed(world)) == {id for _, id in outcomes}


@requirement("ledger/invariants/one-active")
def test_of_eight_processes_on_one_target_one_wins_and_the_others_learn_who(
    opener: Opener, tmp_path: Path
) -> None:
    world = opener()
    with ExitStack() as stack:
        processes = [
            stack.enter_context(decider(tmp_path / "one", f"p{number}", 1, "=store"))
            for number in range(MANY)
        ]
        for process in processes:
            start(process)
        outcomes = [outcome for process in processes for outcome in told(process)]
    assert sorted(word for word, _ in outcomes) == ["lost"] * (MANY - 1) + ["made"]
    [winner] = {id for _, id in outcomes}
    assert set(check_agreed(world)) == {winner}


@requirement("ledger/git/crash")
def test_whoever_asks_while_others_decide_is_never_told_that_the_ledger_is_broken(
    opener: Opener, tmp_path: Path
) -> None:
    world = opener()
    with ExitStack() as stack:
        processes = [
            stack.enter_context(decider(tmp_path / "one", f"p{number}", 8, f"target {number}"))
            for number in range(2)
        ]
        for process in processes:
            start(process)
        while any(process.poll() is None for process in processes):
            assert [each.reason for each in world.app.get(Ledgers).states()] in (
                [],
                [None],
            )
    assert len(check_agreed(world)) == 16


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 6))]
)
def test_what_was_acknowledged_survives_a_kill_and_the_next_start_heals_the_rest(
    opener: Opener, tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    with decider(tmp_path / "one", "p", 10_000, "target") as process:
        start(process)
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(chance.randrange(1, 12))]
        # Spin for a random part of an act, so that the kill falls anywhere in one.
        for _ in range(chance.randrange(20_000)):
            pass
        os.kill(process.pid, signal.SIGKILL)
        # Not `communicate`, which does not see the lines that were read ahead.
        rest = process.stdout.read()
        process.wait(60)
    lines = [*acknowledged, *rest.splitlines(keepends=True)]
    made = {line.split()[1] for line in lines if line.endswith("\n") and line.startswith("made")}
    world = opener()
    kept = check_agreed(world)
    assert made <= set(kept)
    assert len(kept) <= len(made) + 1
    world.app.get(DecisionActs).record(AGENT, draft("and on it goes"))
