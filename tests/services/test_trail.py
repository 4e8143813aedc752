import threading

import pytest

from minutebook.domain.errors import Forbidden, StoreError
from minutebook.domain.records import Entry, Kind
from minutebook.domain.trail import text_digest
from tests.world import World, everything


def trail_of(world: World) -> list[Entry]:
    found = world.app.store.find(Kind.ENTRY, everything("default"), order=["number"])
    return [each for each in found if isinstance(each, Entry)]


def test_an_act_ends_with_its_entry(world: World) -> None:
    with world.app.trail.act(world.caller, "default", "paint", Kind.MEMORY, "m") as deed:
        deed.changes("old", "new")
        deed.subject = "n"
    (entry,) = trail_of(world)
    assert (entry.act, entry.subject, entry.outcome) == ("paint", "n", "done")
    assert (entry.before, entry.after) == (text_digest("old"), text_digest("new"))
    assert entry.at == world.clock.now


def test_an_act_that_came_to_nothing_leaves_none(world: World) -> None:
    with world.app.trail.act(world.caller, "default", "paint", Kind.MEMORY, "m") as deed:
        deed.changes_nothing()
    assert trail_of(world) == []


def test_a_refusal_undoes_the_act_and_is_entered_alone(world: World) -> None:
    def attempt() -> None:
        with world.app.trail.act(world.caller, "default", "paint", Kind.MEMORY, "m"):
            world.entity("Ana")
            raise Forbidden("paint", "no colours")

    with pytest.raises(Forbidden):
        attempt()
    (entry,) = trail_of(world)
    assert (entry.act, entry.outcome, entry.after) == ("paint", "Forbidden", "")
    assert world.app.store.count(Kind.ENTITY, everything("default")) == 0


def test_a_failure_undoes_the_act_and_leaves_no_entry(world: World) -> None:
    def attempt() -> None:
        with world.app.trail.act(world.caller, "default", "paint", Kind.MEMORY, "m"):
            world.entity("Ana")
            raise StoreError("the disk is full")

    with pytest.raises(StoreError):
        attempt()
    assert trail_of(world) == []
    assert world.contents() == {}


def test_a_break_is_found_and_named(world: World) -> None:
    for name in ("a", "b", "c"):
        world.entity(name)
    assert world.app.trail.verify("default") is None
    assert world.app.trail.verify("unknown") is None
    world.app.store.delete(Kind.ENTRY, "default", "2")
    broken = world.app.trail.verify("default")
    assert broken is not None
    assert broken.number == 2


def test_organizations_have_trails_of_their_own(world: World) -> None:
    for name in ("acme", "other", "acme"):
        world.by(organization=name).remember("a")
    for name, length in (("acme", 2), ("other", 1)):
        assert world.app.store.count(Kind.ENTRY, everything(name)) == length
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
