"""Machines in step, whatever is done on each: the same records everywhere, and each as the trail of its machine says."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from minutebook.features.sync.machines import _Exchange
from minutebook.memory.access.audit import Trail
from tests.faults.campaign import LONG, chance, report, rounds
from tests.faults.machine_walk import ACTS, walked
from tests.faults.put_back_walk import PUT_BACK

STEPS = 120


def test_machines_end_equal_and_each_trail_says_what_became_of_every_record(
    tmp_path: Path,
) -> None:
    source, done, refused, steps = chance("machines"), Counter[str](), 0, 0
    number = rounds(2, 250)
    for each in range(number):
        by, home = Random(source.getrandbits(32)), tmp_path / f"{each}"
        home.mkdir()
        one = walked(home, by, STEPS)
        done += one.done
        refused += one.refused
        steps += one.done.total() + one.refused
    assert not LONG or done.keys() == ACTS.keys()
    report(
        "machines",
        "two or three",
        walks=number,
        steps=steps,
        acts=len(done),
        syncs=done["sync"],
        refused=refused,
        differing=0,
        alarms=0,
    )


def test_machines_end_equal_though_their_place_loses_files_or_is_put_back(tmp_path: Path) -> None:
    source, done, refused, steps = chance("put back"), Counter[str](), 0, 0
    number = rounds(2, 40)
    for each in range(number):
        by, home = Random(source.getrandbits(32)), tmp_path / f"{each}"
        home.mkdir()
        one = walked(home, by, STEPS, PUT_BACK)
        done += one.done
        refused += one.refused
        steps += one.done.total() + one.refused
    report(
        "machines",
        "two or three, whose folder loses files or is put back",
        walks=number,
        steps=steps,
        acts=len(done),
        syncs=done["sync"],
        refused=refused,
        differing=0,
        alarms=0,
    )


def test_a_walk_is_stopped_where_the_trail_misses_what_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trail, "_fingerprints", lambda self, audit, organization, begun: iter(()))
    with pytest.raises(AssertionError, match="the trail has no entry with its digest"):
        walked(tmp_path, Random(1), 20)


def test_a_walk_ends_in_an_error_where_machines_do_not_take_in_what_others_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Exchange, "take", lambda self: None)
    with pytest.raises(AssertionError, match="machines differ in"):
        walked(tmp_path, Random(1), 20)
