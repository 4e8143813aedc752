import threading
from dataclasses import replace
from typing import Any

import pytest

from minutebook.memory.access.audit import LONGEST_WORD
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Fault, Forbidden, StoreError
from minutebook.record.policy import Scope
from minutebook.record.records import Entity, Entry, Kind, Role
from minutebook.record.trust.trail import text_digest
from tests.world import World, everything


def trail_of(world: World) -> list[Entry]:
    found = world.store.find(Entry, everything("default"), order=["number"])
    return [each for each in found if isinstance(each, Entry)]


def test_an_act_ends_with_its_entry(world: World) -> None:
    with world.app.trail.audited(world.caller, "default", "paint", Kind.MEMORY, "m") as deed:
        deed.check(Scope("default"))
        deed.changes("old", "new")
        deed.subject = "n"
    (entry,) = trail_of(world)
    assert (entry.act, entry.subject, entry.outcome) == ("paint", "n", "done")
    assert (entry.before, entry.after) == (text_digest("old"), text_digest("new"))
    assert entry.at == world.clock.now


def test_what_callers_choose_fills_no_trail(world: World) -> None:
    caller = with_call(replace(world.caller, role=Role.VIEWER), request="r" * 100_000)
    with pytest.raises(Forbidden):
        world.app.sessions.add(caller, "s" * 100_000, "p", "t", "r")
    (entry,) = trail_of(world)
    assert len(entry.subject) == len(entry.request) == LONGEST_WORD


def test_an_act_that_came_to_nothing_leaves_none(world: World) -> None:
    with world.app.trail.audited(world.caller, "default", "paint", Kind.MEMORY, "m") as deed:
        deed.changes_nothing()
    assert trail_of(world) == []


def test_a_refusal_undoes_the_act_and_is_entered_alone(world: World) -> None:
    def attempt() -> None:
        with world.app.trail.audited(world.caller, "default", "paint", Kind.MEMORY, "m"):
            world.entity("Ana")
            raise Forbidden("paint", "no colours")

    with pytest.raises(Forbidden):
        attempt()
    (entry,) = trail_of(world)
    assert (entry.act, entry.outcome, entry.after) == ("paint", "Forbidden", "")
    assert world.store.count(Entity, everything("default")) == 0


def test_a_failure_undoes_the_act_and_leaves_no_entry(world: World) -> None:
    def attempt() -> None:
        with world.app.trail.audited(world.caller, "default", "paint", Kind.MEMORY, "m"):
            world.entity("Ana")
            raise StoreError("the disk is full")

    with pytest.raises(StoreError):
        attempt()
    assert trail_of(world) == []
    assert world.contents() == {}


def test_an_act_that_did_not_ask_whether_it_may_write_changes_nothing(world: World) -> None:
    def attempt() -> None:
        with world.app.trail.audited(world.caller, "default", "paint", Kind.MEMORY, "m"):
            world.entity("Ana")

    with pytest.raises(Fault):
        attempt()
    assert trail_of(world) == []
    assert world.contents() == {}


def test_organizations_have_trails_of_their_own(world: World) -> None:
    for name in ("acme", "other", "acme"):
        world.by(organization=name).remember("a")
    for name, length in (("acme", 2), ("other", 1)):
        assert world.store.count(Entry, everything(name)) == length
        assert world.app.trail.verify(name) is None


def test_writers_at_once_leave_one_unbroken_trail(world: World) -> None:
    def write(number: int) -> None:
        for each in range(5):
            world.by(name=f"w{number}").call("store_memory", content=f"{number} {each}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.number for entry in trail_of(world)] == [*range(1, 21)]
    assert world.app.trail.verify("default") is None


def test_a_refused_act_of_several_leaves_its_refusal_and_nothing_else(world: World) -> None:
    def attempt() -> None:
        with world.app.trail.audited_batch(["default"]):
            world.entity("Ana")
            with world.app.trail.audited(world.caller, "default", "paint", Kind.MEMORY, "m"):
                raise Forbidden("paint", "no colours")

    with pytest.raises(Forbidden):
        attempt()
    assert [(e.act, e.outcome) for e in trail_of(world)] == [("paint", "Forbidden")]
    assert world.store.count(Entity, everything("default")) == 0
    world.entity("Ben")
    assert world.app.trail.verify("default") is None


def test_a_reading_is_entered_once_for_each_record(world: World) -> None:
    world.app.trail.log(world.caller, "acme", "read", Kind.MEMORY, ["a", "b"])
    world.app.trail.log(world.caller, "acme", "read", Kind.MEMORY, ["c"], outcome="Forbidden")
    found = world.store.find(Entry, everything("acme"), order=["number"])
    entries = [each for each in found if isinstance(each, Entry)]
    assert [(e.subject, e.outcome) for e in entries] == [
        ("a", "done"),
        ("b", "done"),
        ("c", "Forbidden"),
    ]
    assert world.app.trail.verify("acme") is None


def test_entries_are_given_newest_first_by_every_filter(world: World) -> None:
    ana, ben = world.by(name="ana"), world.by(name="ben", organization="acme")
    first = ana.remember("a")
    second = ben.remember("b")
    third = ana.remember("c")
    at = world.clock.now
    world.by(role=Role.VIEWER, name="eve").refused("update_memory", id=third, content="d")
    trail = world.app.trail

    def subjects(caller: Caller = world.caller, **asked: Any) -> list[str]:
        return [entry.subject for entry in trail.entries(caller, **asked)]

    assert subjects() == [third, third, second, first]
    assert subjects(limit=2) == [third, third]
    assert subjects(actor="ana") == [third, first]
    assert subjects(act="update") == [third]
    assert subjects(subject=second) == [second]
    assert subjects(outcome="Forbidden") == [third]
    assert subjects(since=at) == [third, third]
    assert subjects(actor="ana", since=at, outcome="done") == [third]
    assert subjects(replace(world.caller, organization="acme")) == [second]
    assert subjects(replace(world.caller, organization="unknown")) == []
    with pytest.raises(Forbidden):
        subjects(replace(world.caller, user="ana"))


def test_a_refusal_names_a_remedy_that_its_caller_has(world: World) -> None:
    held = world.by(user="ana").caller
    with pytest.raises(Forbidden, match="leave out --repository and --user"):
        world.app.trail.heads(held)
    with pytest.raises(Forbidden, match="ask its owner for a token"):
        world.app.trail.heads(replace(held, token="t"))
