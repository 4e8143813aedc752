"""Several processes, killed processes, full disks: what was acknowledged is there, and only whole."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.features.ledger.git.history import changes_since, read_all
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.writer import recover
from minutebook.features.ledger.lineage import violations
from minutebook.record.records import Decision, DecisionStatus
from tests.features.ledger.git.given import git, numbered, own, person, record, shared

ROOT = Path(__file__).resolve().parents[4]
OPENERS: dict[str, Callable[[Path], Repository]] = {"own": own, "shared": shared}


def start(act: str, where: str, path: Path, argument: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.features.ledger.git.worker", act, where, str(path), argument],
        cwd=ROOT,
        env={**os.environ, "HOME": str(path.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(worker: subprocess.Popen[str]) -> list[str]:
    out, err = worker.communicate(timeout=100)
    assert (worker.returncode, err) == (0, "")
    return out.splitlines()


def placed(where: str, path: Path) -> Path:
    return person(path) if where == "shared" else path


def check_sound(ledger: Repository) -> dict[str, Decision]:
    """See that the ledger holds, Git finds nothing wrong, and no work is left over."""
    recover(ledger)
    told = changes_since(ledger, None)
    assert told.violations == ()
    assert violations(told.decisions) == []
    assert git(ledger.path, "fsck", "--strict", "--no-dangling") == ""
    if (ledger.path / ".git").exists():
        assert git(ledger.path, "status", "--porcelain") == ""
    assert not list(ledger.path.rglob("*.lock"))
    assert not list(ledger.path.rglob("*minutebook*"))
    return {each.id: each for each in told.decisions}


@pytest.mark.thorough
@pytest.mark.parametrize("where", OPENERS)
@pytest.mark.parametrize(
    "each", [4, pytest.param(40, marks=[pytest.mark.slow, pytest.mark.cold_start])]
)
def test_eight_processes_start_cold_and_record_at_once_and_nothing_is_lost(
    tmp_path: Path, where: str, each: int
) -> None:
    path = placed(where, tmp_path / "ledger")
    workers = [start("write", where, path, f"{first * 1000}:{each}") for first in range(8)]
    acknowledged = {id for worker in workers for id in ended(worker)}
    assert len(acknowledged) == 8 * each
    ledger = OPENERS[where](path)
    assert set(check_sound(ledger)) == acknowledged
    assert len(git(path, "log", "--format=%s", "--grep=^Act: ").splitlines()) == 8 * each


@pytest.mark.thorough
def test_of_eight_processes_on_one_target_one_wins_and_the_others_learn_which(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger"
    workers = [start("contend", "own", path, str(number)) for number in range(8)]
    said = [line.split() for worker in workers for line in ended(worker)]
    (winner,) = [id for word, id in said if word == "won"]
    lost = [id for word, id in said if word == "lost"]
    then = [id for word, id in said if word == "then"]
    # Whoever came after a successor was told of the one that stood then.
    assert len(lost) == 7
    assert set(lost) <= {winner, *then}
    kept = check_sound(own(path))
    assert set(kept) == {winner, *then}
    active = [each.id for each in kept.values() if each.status is DecisionStatus.ACTIVE]
    assert len(active) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("where", OPENERS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 12))]
)
def test_a_kill_at_any_instant_loses_nothing_acknowledged(
    tmp_path: Path, seed: int, where: str
) -> None:
    path = placed(where, tmp_path / "ledger")
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    for life in range(3):
        workers = [start("write", where, path, f"{life * 20000 + n * 5000}:5000") for n in range(2)]
        for worker in workers:
            assert worker.stdout is not None
            acknowledged |= {
                worker.stdout.readline().strip() for _ in range(chance.randrange(1, 9))
            }
        for worker in workers:
            worker.kill()
            assert worker.stdout is not None
            # First what was read ahead, which `communicate` does not see.
            rest = worker.stdout.read()
            _, err = worker.communicate()
            assert worker.returncode == -signal.SIGKILL, err
            acknowledged |= set(rest.split())
    assert acknowledged - {""} <= set(check_sound(OPENERS[where](path)))
    record(OPENERS[where](path), numbered(90_000))


@pytest.mark.thorough
def test_a_person_commits_while_decisions_are_recorded(tmp_path: Path) -> None:
    path = person(tmp_path / "project")
    worker = start("write", "shared", path, "0:30")
    theirs = 0
    while worker.poll() is None:
        # Git gives up where another has its lock; a person would try again.
        said = git(path, "commit", "-q", "--allow-empty", "-m", "theirs", check=False)
        theirs += said == ""
        time.sleep(0.05)
    out, err = worker.communicate(timeout=100)
    # On a busy machine it may give up waiting for the person, and says so; nothing else may go wrong.
    assert err == "" or "LedgerBusy" in err
    acknowledged = set(out.splitlines())
    assert len(acknowledged) == 30 or err
    assert set(check_sound(shared(path))) == acknowledged
    assert git(path, "log", "--format=%s", "--grep=^theirs").splitlines() == ["theirs"] * theirs


@pytest.mark.thorough
@pytest.mark.parametrize("where", OPENERS)
def test_on_a_full_disk_an_act_fails_plainly_and_the_ledger_is_sound(
    tmp_path: Path, where: str
) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("no small disk can be mounted here")
    try:
        path = placed(where, tmp_path / "ledger")
        check_outgrown(where, path, "disk", "the disk is full")
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize("where", OPENERS)
def test_where_a_file_may_not_grow_an_act_fails_plainly_and_the_ledger_is_sound(
    tmp_path: Path, where: str
) -> None:
    check_outgrown(where, placed(where, tmp_path / "ledger"), "4000", "may not grow")


def check_outgrown(where: str, path: Path, limit: str, reason: str) -> None:
    *acknowledged, last = ended(start("outgrow", where, path, limit))
    assert reason in last
    assert str(path) in last
    assert len(acknowledged) > 3
    assert set(check_sound(OPENERS[where](path))) == set(acknowledged)
    assert len(read_all(OPENERS[where](path), git(path, "rev-parse", "HEAD").strip())) == len(
        acknowledged
    )
