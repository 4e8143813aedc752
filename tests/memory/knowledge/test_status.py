"""Locks, links, verification and deprecation; and that a lock holds at every door."""

from dataclasses import replace
from typing import Any

import pytest

from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Forbidden, InBatch, Locked, NotFound
from minutebook.record.policy import Policy, with_field_writes
from minutebook.record.records import Edge, Link, Memory, MemoryType, Role, ScopeLevel, Status
from minutebook.record.writing.drafts import Draft
from tests.world import Opener, World, everything

STEWARDS = (Role.MANAGER, Role.ARCHITECT, Role.ADMIN)


@pytest.fixture
def manager(world: World) -> Caller:
    return world.by(role=Role.MANAGER, name="max").caller


def kept(world: World, content: str = "tea", **said: Any) -> Memory:
    world.clock.turn()
    return world.app.memories.store(
        world.caller, Draft(content=content, type=MemoryType.FACT, **said)
    )


@pytest.mark.parametrize("status", [Status.DRAFT, Status.VERIFIED, Status.UNVERIFIED])
def test_an_unlocked_memory_is_as_it_was_before_the_lock(
    world: World, manager: Caller, status: Status
) -> None:
    memory = kept(world.by(role=Role.HUMAN), status=status)
    locked = world.app.status.lock(manager, memory.id)
    assert (locked.status, locked.locked_by) == (Status.LOCKED, Role.MANAGER)
    assert world.memory(memory.id) == locked
    unlocked = world.app.status.unlock(manager, memory.id)
    assert replace(unlocked, updated_at=memory.updated_at) == memory
    with pytest.raises(Conflict):
        world.app.status.unlock(manager, memory.id)
    told = [(entry.act, entry.actor, entry.role) for entry in world.entries(memory.id)[1:3]]
    assert told == [("lock", "max", Role.MANAGER), ("unlock", "max", Role.MANAGER)]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT, Role.HUMAN])
def test_only_stewards_lock_and_unlock(world: World, manager: Caller, role: Role) -> None:
    memory, other = kept(world), kept(world)
    world.app.status.lock(manager, other.id)
    caller = replace(world.caller, role=role)
    with pytest.raises(Forbidden):
        world.app.status.lock(caller, memory.id)
    with pytest.raises(Forbidden):
        world.app.status.unlock(caller, other.id)
    assert world.memory(memory.id) == memory
    assert [entry.outcome for entry in world.entries(other.id)] == ["done", "done", "Forbidden"]


def doors(world: World, id: str, other: str) -> dict[str, Any]:
    """Every way of changing, ending, moving, joining or removing a memory."""
    app, draft = world.app, Draft(content="x", type=MemoryType.FACT, id=id)

    def change(**changes: Any) -> Any:
        return lambda caller: app.memories.update(caller, id, changes)

    return {
        "content": change(content="x"),
        "title": change(title="x"),
        "metadata": change(metadata={"a": 1}),
        "importance": change(importance=2.0),
        "type": change(type=MemoryType.RISK),
        "scope": change(scope=ScopeLevel.USER),
        "repository": change(repository="r"),
        "status and more": change(status=Status.ACTIVE, content="x"),
        "status locked": change(status=Status.LOCKED),
        "write": lambda caller: app.memories.write(caller, draft),
        "batch": lambda caller: app.memories.write_all([(caller, draft)]),
        "remove": lambda caller: app.memories.remove(caller, id),
        "restore": lambda caller: app.memories.restore(caller, id, 1),
        "delete": lambda caller: app.memories.delete(caller, id),
        "invalidate": lambda caller: app.memories.invalidate(caller, id, None, None),
        "supersede": lambda caller: app.memories.invalidate(caller, id, "r", other),
        "verify": lambda caller: app.status.verify(caller, id),
        "deprecate": lambda caller: app.status.deprecate(caller, id, "r"),
        "link from": lambda caller: app.links.link(caller, id, other),
        "link to": lambda caller: app.links.link(caller, other, id, "needs"),
    }


@pytest.mark.parametrize("rules", Policy)
@pytest.mark.parametrize("role", [Role.AGENT, Role.HUMAN, *STEWARDS])
def test_a_locked_memory_is_changed_through_no_door_by_nobody(
    opener: Opener, role: Role, rules: Policy
) -> None:
    world = opener(policy=rules)
    memory, other = kept(world), kept(world)
    world.app.status.lock(world.by(role=Role.ADMIN).caller, memory.id)
    locked, edges = world.memory(memory.id), world.store.edges("default", [memory.id])
    caller = with_field_writes(replace(world.caller, role=role), rules)
    for name, door in doors(world, memory.id, other.id).items():
        with pytest.raises((Locked, InBatch)) as refusal:
            door(caller)
        error = refusal.value.error if isinstance(refusal.value, InBatch) else refusal.value
        assert isinstance(error, Locked), name
        assert error.id == memory.id
        assert world.memory(memory.id) == locked
        assert world.store.edges("default", [memory.id]) == edges
    world.app.overview.reset(caller)
    assert world.memory(memory.id) == locked
    assert world.app.trail.verify("default") is None


def test_each_door_opens_once_the_memory_is_unlocked(world: World, manager: Caller) -> None:
    other = kept(world, "other")
    for name in doors(world, "", ""):
        memory = kept(world, name)
        world.app.status.lock(manager, memory.id)
        world.app.status.unlock(manager, memory.id)
        by = replace(world.caller, role=Role.MANAGER)
        doors(world, memory.id, other.id)[name](by)


def test_a_locked_memory_is_not_reinstated_nor_unlinked(world: World, manager: Caller) -> None:
    memory, other = kept(world, "tea"), kept(world, "cake")
    app, caller = world.app, world.caller
    app.links.link(caller, memory.id, other.id)
    app.memories.invalidate(caller, memory.id, "over", None)
    app.status.lock(manager, memory.id)
    locked = world.memory(memory.id)
    edges = world.store.edges("default", [memory.id])
    for act in (
        lambda: app.memories.reinstate(caller, memory.id),
        lambda: app.links.unlink(caller, memory.id, other.id),
        lambda: app.links.unlink(caller, other.id, memory.id),
    ):
        with pytest.raises(Locked):
            act()
    assert world.memory(memory.id) == locked
    assert world.store.edges("default", [memory.id]) == edges
    app.status.unlock(manager, memory.id)
    app.links.unlink(caller, other.id, memory.id)
    assert world.store.edges("default", [memory.id]) == []
    assert app.memories.reinstate(caller, memory.id).valid_until is None
    assert {"unlink", "reinstate"} <= {each.act for each in world.trail()}


def test_what_held_all_along_or_was_never_linked_cannot_be_undone(world: World) -> None:
    memory, other = kept(world, "tea"), kept(world, "cake")
    before = world.trail()
    with pytest.raises(Conflict):
        world.app.memories.reinstate(world.caller, memory.id)
    with pytest.raises(Conflict):
        world.app.links.unlink(world.caller, memory.id, other.id)
    assert world.trail() == before


def test_only_who_may_verify_lets_a_memory_hold_again_as_verified(world: World) -> None:
    memory = kept(world, "tea")
    world.app.memories.invalidate(world.caller, memory.id, "over", None)
    agent = replace(world.caller, role=Role.AGENT)
    with pytest.raises(Forbidden):
        world.app.memories.reinstate(agent, memory.id, Status.VERIFIED)
    person = replace(world.caller, role=Role.HUMAN)
    after = world.app.memories.reinstate(person, memory.id, Status.VERIFIED)
    assert (after.status, after.valid_until, after.reason) == (Status.VERIFIED, None, None)


def test_what_a_locked_memory_names_as_its_successor_stays(world: World, manager: Caller) -> None:
    old, new = kept(world, "old"), kept(world, "new")
    world.app.memories.invalidate(world.caller, old.id, None, new.id)
    world.app.status.lock(manager, old.id)
    locked = world.memory(old.id)
    with pytest.raises(Locked) as refusal:
        world.app.memories.delete(world.caller, new.id)
    assert old.id in refusal.value.reason
    assert world.app.overview.reset(manager).kept_locked == 2
    assert world.memory(old.id) == locked
    world.app.status.unlock(manager, old.id)
    assert world.app.memories.delete(world.caller, new.id)
    assert world.memory(old.id).superseded_by is None


def test_a_locked_memory_may_be_named_as_the_successor_and_is_not_changed_by_it(
    world: World, manager: Caller
) -> None:
    old, new = kept(world, "old"), kept(world, "new")
    locked = world.app.status.lock(manager, new.id)
    world.app.memories.invalidate(world.caller, old.id, None, new.id)
    assert world.memory(new.id) == locked


def test_in_an_open_store_the_status_of_catalog_locks_and_unlocks(
    world: World, manager: Caller
) -> None:
    caller = with_field_writes(world.caller, Policy.OPEN)
    memory = kept(world, status=Status.DRAFT)
    update = world.app.memories.update
    locked = update(caller, memory.id, {"status": Status.LOCKED})
    assert (locked.locked_by, locked.unlocks_to) == (Role.AGENT, Status.DRAFT)
    with pytest.raises(Locked):
        update(caller, memory.id, {"content": "x", "status": Status.ACTIVE})
    opened = update(caller, memory.id, {"status": Status.ACTIVE})
    assert (opened.status, opened.locked_by, opened.unlocks_to) == (Status.ACTIVE, None, None)
    world.app.status.lock(manager, memory.id)
    with pytest.raises(Forbidden):
        update(caller, memory.id, {"status": Status.ACTIVE})
    with pytest.raises(Forbidden):
        update(
            with_field_writes(caller, Policy.GOVERNED), kept(world).id, {"status": Status.LOCKED}
        )
    created = kept(replace(world, caller=caller), status=Status.LOCKED)
    assert created.locked_by is Role.AGENT


def test_what_a_person_verified_is_verified_and_an_agent_cannot(world: World) -> None:
    memory = kept(world)
    with pytest.raises(Forbidden):
        world.app.status.verify(world.caller, memory.id)
    verified = world.app.status.verify(world.by(role=Role.HUMAN).caller, memory.id)
    assert verified.status is Status.VERIFIED
    with pytest.raises(Forbidden):
        world.app.memories.update(world.caller, kept(world).id, {"status": Status.VERIFIED})


def test_a_deprecated_memory_holds_no_longer_until_it_is_verified_again(world: World) -> None:
    memory = kept(world, "tea leaves")
    world.clock.turn()
    gone = world.app.status.deprecate(world.caller, memory.id, "moved away")
    assert (gone.status, gone.reason) == (Status.DEPRECATED, "moved away")
    assert gone.valid_until == world.clock.now
    assert world.ids("recall", query="tea") == world.ids("get_valid") == []
    again = world.app.status.verify(world.by(role=Role.HUMAN).caller, memory.id)
    assert (again.status, again.reason, again.valid_until) == (Status.VERIFIED, None, None)
    assert world.ids("recall", query="tea") == [memory.id]


def test_who_may_not_see_what_took_a_memorys_place_is_not_told_its_id(world: World) -> None:
    memory = kept(world)
    private = kept(world.by(user="ben"))
    world.app.memories.invalidate(world.caller, memory.id, None, private.id)
    ana = world.by(user="ana", role=Role.HUMAN).caller
    with pytest.raises(Conflict) as refusal:
        world.app.status.verify(ana, memory.id)
    assert private.id not in str(refusal.value)
    with pytest.raises(Conflict) as refusal:
        world.app.status.deprecate(ana, memory.id, "old")
    assert private.id not in str(refusal.value)


def test_a_superseded_memory_stays_superseded(world: World) -> None:
    old, new = kept(world), kept(world)
    world.app.memories.invalidate(world.caller, old.id, None, new.id)
    person = world.by(role=Role.HUMAN).caller
    with pytest.raises(Conflict):
        world.app.status.verify(person, old.id)
    with pytest.raises(Conflict):
        world.app.status.deprecate(person, old.id, "r")
    with pytest.raises(Conflict):
        world.app.memories.update(person, old.id, {"status": Status.ACTIVE})
    assert world.memory(old.id).status is Status.SUPERSEDED


def links(world: World) -> set[tuple[str, str, str]]:
    found = world.store.find(Link, everything("default"))
    return {(each.source, each.target, each.type) for each in found if isinstance(each, Edge)}


def test_related_leads_both_ways_another_type_one_way_and_twice_is_once(world: World) -> None:
    one, two = kept(world).id, kept(world).id
    for _ in range(2):
        world.clock.turn()
        world.app.links.link(world.caller, one, two)
        world.app.links.link(world.caller, one, two, "needs")
        assert links(world) == {
            (one, two, "related"),
            (two, one, "related"),
            (one, two, "needs"),
        }
    assert [entry.act for entry in world.entries(one)] == ["created", "link", "link"]


def test_a_link_needs_two_memories_of_one_organization(world: World) -> None:
    one = kept(world).id
    far = kept(world.by(organization="acme")).id
    for source, target, error in (
        (one, one, Conflict),
        (one, far, Conflict),
        (one, "unknown", NotFound),
        ("unknown", one, NotFound),
    ):
        with pytest.raises(error):
            world.app.links.link(world.caller, source, target)
    with pytest.raises(Forbidden):
        world.app.links.link(replace(world.caller, role=Role.VIEWER), one, kept(world).id)
    assert links(world) == set()


def test_a_link_that_is_called_supersedes_replaces_nothing(world: World) -> None:
    one, two = kept(world), kept(world)
    world.app.links.link(world.caller, one.id, two.id, "supersedes")
    world.app.memories.delete(world.caller, one.id)
    assert world.memory(two.id) == two
