"""A sync that is killed at any step harms nothing: the next one ends what it began."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import Remote, remote_of
from minutebook.record.records import Memory, Version
from tests.faults.campaign import chance, report, rounds
from tests.faults.invariants import unproven
from tests.features.ledger.decided import ADMIN, draft
from tests.features.sync.joined_machines import Machines, machines
from tests.world import everything

pytestmark = pytest.mark.thorough


def sync_killed_at(home: Path, machine: int, remote: Path, step: int, *more: str) -> bool:
    """Sync in a process that is killed at a step; tell whether it came to that."""
    place = [str(home), f"machine{machine}", str(remote), str(step), *more]
    done = subprocess.run(
        [sys.executable, "-m", "tests.features.sync.killed_sync", *place],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert (done.stdout == "done\n") is (done.returncode == 0)
    return done.returncode != 0


def kill_again_and_again(
    home: Path, remote: Path, times: int, steps: int, by: Random
) -> tuple[set[str], int]:
    """Edit on both machines and kill a sync, round after round; return what was written, and how many were killed."""
    written, erased, killed = set[str](), list[str](), 0
    for round in range(times):
        with machines(home, later=round * 1000) as joined:
            edit_on_both(joined, round, written)
            erased.append(erase_a_decision(joined, round, places_of(home, remote)))
        more = ["compact"] * (by.random() < 0.3)
        if sync_killed_at(home, round % 2, remote, by.randint(1, steps), *more):
            killed, steps = killed + 1, steps * 5 // 4
        else:
            # It takes more steps with each record, so how many it takes follows from who came to the end.
            steps = steps * 3 // 4
    with machines(home, later=times * 1000) as joined:
        places = places_of(home, remote)
        for _ in range(3):
            for number in range(2):
                assert joined.sync(number, places[number]).refused == []
        assert joined.held(0) == joined.held(1)
        for number in range(2):
            compared = (
                joined.worlds[number].app.get(MachineSync).compare(joined.person, places[number])
            )
            assert (compared.differences, compared.refused) == ((), ())
            assert written <= joined.texts(number)
            assert joined.worlds[number].store.upkeep.check() == []
            assert list(unproven(joined.worlds[number].app.get(TrailProving).prove(ADMIN))) == []
            assert joined.worlds[number].app.doctor.examine() == []
            assert joined.worlds[number].app.get(Erasing).check(ADMIN, erased).traces == []
    return written, killed


def edit_on_both(joined: Machines, round: int, written: set[str]) -> None:
    for number in range(2):
        text = f"round {round} on {number}"
        joined.worlds[number].remember(text)
        written.add(text)
        for memory in joined.worlds[number].store.find(Memory, everything("default"))[:2]:
            joined.edit(number, memory.id, f"{text}, edited {memory.id}")
            written.add(f"{text}, edited {memory.id}")
    assert joined.worlds[0].store.count(Version, everything("default"))


def places_of(home: Path, remote: Path) -> list[Remote]:
    """Return the remote as each of both machines reaches it."""
    caches = (home / f"machine{number}" / ".sync" for number in range(2))
    return [remote_of(str(remote), each, home) for each in caches]


def erase_a_decision(joined: Machines, round: int, places: Sequence[Remote]) -> str:
    """Decide something on one machine; on the other, which hears of it, erase what it said; return that."""
    number, text = round % 2, f"Ana owes {round} coins to Bo"
    decisions, erasing = (
        joined.worlds[number].app.get(DecisionActs),
        joined.worlds[1 - number].app.get(Erasing),
    )
    made = decisions.record(joined.person, draft(f"target {round}", text))
    joined.sync(number, places[number])
    joined.sync(1 - number, places[1 - number])
    records = erasing.find(joined.person, Choice((made.id,)))
    erasing.erase(joined.person, records, backups=False, from_ledger=True)
    joined.sync(1 - number, places[1 - number])
    return text


STEPS = {"a folder": 100, "a Git repository": 210}
"""About as many as the first sync takes."""


@pytest.mark.parametrize("place", STEPS)
def test_a_killed_sync_is_ended_by_the_next(tmp_path: Path, place: str) -> None:
    by, remote, number = chance(f"sync {place}"), tmp_path / "shared", rounds(3, 60)
    if place == "a folder":
        remote.mkdir()
    else:
        remote = tmp_path / "remote.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    written, killed = kill_again_and_again(tmp_path, remote, number, STEPS[place], by)
    assert killed > number // 4
    report(
        "kills",
        f"sync through {place}",
        rounds=number,
        killed=killed,
        acknowledged=len(written),
        lost=0,
        broken=0,
    )
