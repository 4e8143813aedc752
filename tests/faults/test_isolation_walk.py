"""Isolation as a model: who walks at random over every door meets and changes what the policy gives them, no more."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import pytest

from minutebook.memory.access import visibility
from minutebook.memory.access.audit import Trail
from minutebook.record.filters import Filter
from minutebook.record.records import Link, Record
from tests.faults.campaign import chance, report, rounds
from tests.faults.isolation.acts import REST
from tests.faults.isolation.house import ACME, ONE, OPENED, TWO, visitors
from tests.faults.isolation.oracle import Key, View, trespasses
from tests.faults.isolation.walk import PROVING, Figures, Step, play, shrunk, steps_of, walked
from tests.store.samples import edge, memory

EPISODE = 2_000
"""Steps in one store: what a walk keeps there makes each further step slower."""


@pytest.mark.parametrize("policy", ["governed", "open"])
def test_nobody_meets_or_changes_what_the_policy_keeps_from_them(policy: str) -> None:
    steps, figures, source = rounds(110, 50_000), Figures(), chance(f"walk {policy}")
    for start in range(0, steps, EPISODE):
        walked(policy, source.getrandbits(32), min(EPISODE, steps - start), figures)
    assert not unwalked(figures)
    assert figures.proofs >= steps // PROVING
    report(
        "isolation",
        policy,
        steps=figures.steps,
        callers=len(visitors()),
        acts=len(figures.acts),
        unseen=figures.unknown,
        refused=figures.refused,
        changed=figures.changed,
        disagreements=0,
    )
    ratios = {kind: _ratio(seconds) for kind, seconds in _by_door(figures)}
    if ratios:
        slowest = max(ratios, key=lambda kind: ratios[kind])
        report(
            "isolation timings",
            policy,
            acts=len(ratios),
            ratio=median(ratios.values()),
            most=ratios[slowest],
            act=slowest,
        )


def unwalked(figures: Figures) -> set[tuple[str, str]]:
    """The tools that no act calls, but for those that need an archive, end the engine or work on after their answer."""
    called = figures.tools
    by_path = {("journal", name) for name, (_, path) in REST.items() if ("journal", path) in called}
    return (
        {
            (contract.name, name)
            for contract in OPENED.values()
            for name in contract.tools
            if name not in ("stop_database", "index_project", "import_database")
        }
        - called
        - by_path
    )


LEAST_ASKED = 50
"""Questions of a kind from which on a median tells something."""


def _by_door(figures: Figures) -> list[tuple[str, dict[str, list[float]]]]:
    kinds: dict[str, dict[str, list[float]]] = {}
    for (kind, name), seconds in figures.seconds.items():
        kinds.setdefault(kind, {})[name] = seconds
    asked = sorted(kinds.items())
    return [each for each in asked if min(map(len, each[1].values())) >= LEAST_ASKED]


def _ratio(seconds: dict[str, list[float]]) -> float:
    return median(seconds["not yours"]) / median(seconds["not there"])


def test_times_are_compared_of_acts_that_were_asked_often_enough() -> None:
    figures = Figures()
    for kind, count in (("rare", LEAST_ASKED - 1), ("often", LEAST_ASKED)):
        figures.seconds[kind, "not there"] = [0.1] * count
        figures.seconds[kind, "not yours"] = [0.3] * count
    ((kind, seconds),) = _by_door(figures)
    assert kind == "often"
    assert _ratio(seconds) == pytest.approx(3)


def test_a_walk_in_a_store_that_shows_all_to_everybody_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        visibility, "visible_filter", lambda caller, organization: Filter(organization=organization)
    )
    steps = steps_of(1, 60)
    done, wrong = play("governed", steps, Figures())
    assert wrong
    assert len(done) < len(steps)


def test_a_walk_in_a_store_whose_trail_misses_what_was_changed_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Trail, "_fingerprints", lambda self, audit, organization, begun: iter(()))
    steps = steps_of(1, 20)
    done, wrong = play("governed", steps, Figures(), 10)
    assert len(done) == 10
    assert any("has no entry with its digest" in each for each in wrong)


def test_a_chain_that_closes_over_a_removed_memory_is_no_trespass_and_another_link_is() -> None:
    places = {"first": TWO, "middle": ONE, "last": None}
    following = {"first": "middle", "middle": "last", "last": None}
    kept = [
        memory(organization=ACME, id=id, repository=places[id], superseded_by=following[id])
        for id in places
    ]
    view = View()
    view.update(by_key(kept))
    closed = [replace(kept[0], superseded_by="last"), kept[2]]
    (who,) = (each for each in visitors() if each.name == "human1")
    for source, is_fine in (("last", True), ("first", False)):
        link = edge(Link, source, "first", organization=ACME, type="supersedes")
        changes = view.update(by_key([*closed, link]))
        found = list(trespasses(view, who, changes, "", writes_system=False, unlocks=False))
        assert bool(found) is not is_fine, found
        view.update(by_key(kept))


def by_key(records: Sequence[Record]) -> dict[Key, Record]:
    return {(each.organization, each.kind, each.id): each for each in records}


def test_a_failing_walk_keeps_only_the_steps_that_the_failure_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(policy: str, steps: Sequence[Step], figures: Figures) -> tuple[list[str], list[str]]:
        """Fail at the step 70, if the step 33 came before."""
        numbers = [each.number for each in steps]
        if 33 in numbers and 70 in numbers[numbers.index(33) :]:
            return ["done"] * (numbers.index(70) + 1), ["wrong"]
        return ["done"] * len(steps), []

    monkeypatch.setattr("tests.faults.isolation.walk.play", fails)
    few = shrunk("open", steps_of(1, 71), attempts=100)
    assert [each.number for each in few] == [33, 70]
