"""Writing, changing and bringing back, below every contract."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import (
    Conflict,
    Forbidden,
    InBatch,
    InvalidInput,
    Locked,
    NotFound,
    Refused,
    ScopeViolation,
)
from minutebook.record.policy import Policy
from minutebook.record.records import (
    DEFAULT_USER,
    SYSTEM_ORGANIZATION,
    Entry,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
)
from minutebook.record.trust.trail import text_digest
from minutebook.record.writing.drafts import Draft
from tests.world import Opener, World, everything

FACT, RULE = MemoryType.FACT, MemoryType.BUSINESS_RULE
ID = "0" * 19 + "a"


def draft(content: str = "tea", **said: Any) -> Draft:
    return Draft(content=content, type=said.pop("type", FACT), **said)


def texts(world: World, memory: Memory) -> list[tuple[int, str, str, str]]:
    versions = world.app.memories.history(world.caller, memory).versions
    return [(each.number, each.content, each.changed_by, each.request) for each in versions]


def outcomes(world: World, id: str) -> list[tuple[str, str]]:
    return [(entry.act, entry.outcome) for entry in world.entries(id)]


def test_a_draft_says_everything_of_a_memory(world: World) -> None:
    told = draft(
        id=ID,
        scope=ScopeLevel.REPOSITORY,
        repository="r",
        title="Tea",
        importance=7.0,
        status=Status.UNVERIFIED,
        metadata={"a": [1]},
    )
    memory = world.app.memories.store(world.by(organization="acme").caller, told)
    kept = world.store.get(Memory, "acme", ID)
    assert isinstance(kept, Memory)
    assert kept == memory
    assert (kept.scope, kept.repository, kept.user) == (ScopeLevel.REPOSITORY, "r", None)
    assert (kept.title, kept.importance, kept.status) == ("Tea", 7.0, Status.UNVERIFIED)
    assert (kept.content, kept.metadata, kept.author) == ("tea", {"a": [1]}, "agent")


@pytest.mark.parametrize(
    ("scope", "repository", "held", "expected"),
    [
        (None, None, None, ("acme", ScopeLevel.ORGANIZATION, None, None)),
        (None, None, "r", ("acme", ScopeLevel.REPOSITORY, "r", None)),
        (None, "r", None, ("acme", ScopeLevel.REPOSITORY, "r", None)),
        (ScopeLevel.ORGANIZATION, None, "r", ("acme", ScopeLevel.ORGANIZATION, None, None)),
        (ScopeLevel.ORGANIZATION, "r", None, ("acme", ScopeLevel.ORGANIZATION, "r", None)),
        (ScopeLevel.REPOSITORY, None, "r", ("acme", ScopeLevel.REPOSITORY, "r", None)),
        (ScopeLevel.USER, None, "r", ("acme", ScopeLevel.USER, None, DEFAULT_USER)),
        (ScopeLevel.SYSTEM, None, "r", (SYSTEM_ORGANIZATION, ScopeLevel.SYSTEM, None, None)),
    ],
)
def test_a_scope_finds_its_place(
    world: World,
    scope: ScopeLevel | None,
    repository: str | None,
    held: str | None,
    expected: tuple[str, ScopeLevel, str | None, str | None],
) -> None:
    caller = replace(
        world.caller,
        organization="acme",
        repositories=None if held is None else frozenset({held}),
        writes_system=True,
    )
    memory = world.app.memories.store(caller, draft(scope=scope, repository=repository))
    assert (memory.organization, memory.scope, memory.repository, memory.user) == expected


def test_a_user_scoped_memory_shows_to_its_user_only(world: World) -> None:
    nobodys = world.app.memories.store(world.caller, draft(scope=ScopeLevel.USER))
    anas = world.app.memories.store(world.by(user="ana").caller, draft(scope=ScopeLevel.USER))
    assert anas.user == "ana"
    read = world.app.memories.read
    assert read(world.by(user="ana").caller, anas.id) == anas
    for id, user in ((anas.id, "ben"), (nobodys.id, "ben"), (nobodys.id, "ana")):
        with pytest.raises(NotFound):
            read(world.by(user=user).caller, id)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"scope": ScopeLevel.REPOSITORY}, InvalidInput),
        ({"scope": ScopeLevel.SYSTEM}, Refused),
    ],
)
def test_a_place_that_is_wanting_or_closed_is_refused(
    world: World, said: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        world.app.memories.store(world.caller, draft(**said))
    assert world.store.count(Memory, everything("default")) == 0


def test_nobody_writes_into_a_scope_that_is_not_theirs(world: World) -> None:
    held = replace(world.caller, repositories=frozenset({"r"}), user="ana")
    for said in (
        {"repository": "s"},
        {"scope": ScopeLevel.REPOSITORY, "repository": "s"},
        {"user": "ben"},
        {"scope": ScopeLevel.USER, "user": "ben"},
    ):
        with pytest.raises(ScopeViolation):
            world.app.memories.store(held, draft(**said))
    assert world.store.count(Memory, everything("default")) == 0
    refusals = world.store.find(Entry, everything("default"))
    assert len(refusals) == 4


def test_storing_a_known_id_is_refused_and_writing_it_changes_the_memory(world: World) -> None:
    first = world.app.memories.write(world.caller, draft(id=ID, title="Drink", importance=4.0))
    with pytest.raises(Conflict):
        world.app.memories.store(world.caller, draft(id=ID))
    world.clock.turn()
    again = world.app.memories.write(world.by(name="ben").caller, draft("milk", id=ID))
    assert (again.id, again.version, again.content) == (ID, 2, "milk")
    assert (again.title, again.importance) == ("Drink", 4.0)
    assert again.ingestion_time == first.ingestion_time
    assert world.store.count(Memory, everything("default")) == 1
    assert [act for act, _ in outcomes(world, ID)] == ["created", "update"]


def test_writing_a_soft_deleted_id_brings_it_back(world: World) -> None:
    world.app.memories.write(world.caller, draft(id=ID))
    world.app.memories.remove(world.caller, ID)
    with pytest.raises(NotFound):
        world.app.memories.read(world.caller, ID)
    world.app.memories.write(world.caller, draft("milk", id=ID))
    assert world.app.memories.read(world.caller, ID).content == "milk"
    with pytest.raises(NotFound):
        world.app.memories.remove(world.caller, "unknown")


def test_an_id_that_is_taken_out_of_sight_behaves_as_an_unknown_one(world: World) -> None:
    app, ben = world.app, world.by(user="ben").caller
    theirs = app.memories.write(world.by(user="ana").caller, draft(id=ID))
    mine = app.memories.write(ben, draft("mine", id=ID))
    assert (mine.content, mine.user) == ("mine", "ben")
    assert mine.id != ID
    assert app.memories.write(ben, draft("mine again", id=ID)).id == mine.id
    assert app.memories.write_all([(ben, draft("and again", id=ID))])[0].id == mine.id
    with pytest.raises(Conflict):
        app.memories.store(ben, draft("mine", id=mine.id))
    assert world.memory(ID) == theirs


def test_writers_of_one_id_at_once_all_succeed_and_leave_one_memory(world: World) -> None:
    start, failures = threading.Barrier(4), []

    def write(number: int) -> None:
        start.wait()
        try:
            for turn in range(5):
                world.app.memories.write(world.caller, draft(f"{number} {turn}", id=ID))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert world.memory(ID).version == 20
    assert [number for number, *_ in texts(world, world.memory(ID))] == [*range(1, 21)]
    assert world.app.trail.verify("default") is None


def test_a_batch_is_written_whole_in_order(world: World) -> None:
    items = [(world.caller, draft(f"memory {number}")) for number in range(5)]
    items.append((world.caller, draft("first", id=ID)))
    items.append((world.by(name="ben").caller, draft("second", id=ID)))
    written = world.app.memories.write_all(items)
    assert [each.content for each in written] == [item.content for _, item in items]
    assert world.memory(ID).version == 2
    assert all(world.store.vectors(Memory, "default", each.id) for each in written)
    assert world.app.trail.verify("default") is None


@pytest.mark.parametrize("place", [0, 2, 4])
def test_of_a_batch_with_a_refused_item_nothing_is_kept_but_the_refusal(
    opener: Opener, place: int
) -> None:
    world = opener(policy=Policy.GOVERNED)
    kept = world.app.memories.write(world.caller, draft("before", id=ID))
    types = [RULE if number == place else FACT for number in range(5)]
    items = [(world.caller, draft(f"new {n}", type=type)) for n, type in enumerate(types)]
    items[(place + 1) % 5] = (world.caller, draft("changed", id=ID))
    with pytest.raises(InBatch) as refusal:
        world.app.memories.write_all(items)
    assert refusal.value.index == place
    assert isinstance(refusal.value.error, Forbidden)
    assert world.memory(ID) == kept
    assert world.store.count(Memory, everything("default")) == 1
    found = world.app.trail.entries(world.caller)
    assert [entry.outcome for entry in found] == ["Forbidden", "done"]
    assert world.app.trail.verify("default") is None


def test_of_a_batch_that_meets_a_locked_memory_nothing_is_kept(world: World) -> None:
    world.app.memories.write(world.caller, draft("locked", id=ID))
    world.app.status.lock(world.by(role=Role.MANAGER).caller, ID)
    items = [(world.caller, draft("new")), (world.caller, draft("changed", id=ID))]
    with pytest.raises(InBatch) as refusal:
        world.app.memories.write_all(items)
    assert (refusal.value.index, type(refusal.value.error)) == (1, Locked)
    assert world.store.count(Memory, everything("default")) == 1
    assert outcomes(world, ID)[-1] == ("update", "Locked")


def test_every_text_that_was_is_kept_with_who_when_and_by_which_request(world: World) -> None:
    ana = world.by(name="ana", request="r1")
    memory = ana.app.memories.store(ana.caller, draft("one", title="T"))
    world.clock.turn()
    ben = with_call(replace(world.caller, name="ben"), request="r2")
    world.app.memories.update(ben, memory.id, {"content": "two"})
    world.app.memories.update(ben, memory.id, {"importance": 9.0})
    world.app.memories.update(with_call(ben, request="r3"), memory.id, {"title": None})
    assert texts(world, memory) == [
        (1, "one", "ana", "r1"),
        (2, "two", "ben", "r2"),
        (3, "two", "ben", "r3"),
    ]
    assert world.memory(memory.id).version == 3
    first = world.app.memories.version(world.caller, memory.id, 1)
    assert (first.content, first.title) == ("one", "T")
    assert first.changed_at < world.clock.now
    for number in (0, 4):
        with pytest.raises(NotFound):
            world.app.memories.version(world.caller, memory.id, number)
    last = world.entries(memory.id)[1]
    assert (last.before, last.after) == (text_digest("T\none"), text_digest("T\ntwo"))
    assert "two" not in str(world.entries(memory.id))


def test_any_version_returns_as_a_new_one_that_is_found(world: World) -> None:
    memory = world.app.memories.store(world.caller, draft("tea leaves"))
    world.app.memories.update(world.caller, memory.id, {"content": "coffee beans"})
    restored = world.app.memories.restore(world.by(name="ben").caller, memory.id, 1)
    assert (restored.content, restored.version) == ("tea leaves", 3)
    assert [number for number, *_ in texts(world, memory)] == [1, 2, 3]
    assert world.ids("recall", query="leaves") == [memory.id]
    found = world.store.vectors(Memory, "default", memory.id)
    assert found is not None
    assert float(found[1][0] @ world.app.embeddings.require_query("tea leaves").vector) > 0.99
    assert outcomes(world, memory.id)[-1] == ("restore", "done")


def test_what_was_soft_deleted_is_hidden_until_it_is_restored(world: World) -> None:
    memory = world.app.memories.store(world.caller, draft("tea leaves"))
    world.app.memories.remove(world.caller, memory.id)
    assert world.ids("recall", query="tea") == []
    assert world.app.memories.read_any(world.caller, memory.id).deleted_at is not None
    assert world.app.memories.version(world.caller, memory.id, 1).content == "tea leaves"
    with pytest.raises(NotFound):
        world.app.memories.remove(world.caller, memory.id)
    world.app.memories.restore(world.caller, memory.id)
    assert world.ids("recall", query="tea") == [memory.id]
    with pytest.raises(Conflict):
        world.app.memories.restore(world.caller, memory.id)
    assert [act for act, _ in outcomes(world, memory.id)] == ["created", "remove", "restore"]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"scope": ScopeLevel.ORGANIZATION}, (ScopeLevel.ORGANIZATION, None, None)),
        ({"scope": ScopeLevel.USER}, (ScopeLevel.USER, None, DEFAULT_USER)),
        ({"repository": "s"}, (ScopeLevel.REPOSITORY, "s", None)),
        ({"scope": ScopeLevel.REPOSITORY}, (ScopeLevel.REPOSITORY, "r", None)),
    ],
)
def test_a_scope_that_changes_moves_the_memory(
    world: World, changes: dict[str, Any], place: tuple[ScopeLevel, str | None, str | None]
) -> None:
    memory = world.app.memories.store(
        world.caller, draft(scope=ScopeLevel.REPOSITORY, repository="r")
    )
    moved = world.app.memories.update(world.caller, memory.id, changes)
    assert (moved.scope, moved.repository, moved.user) == place


def test_no_memory_moves_into_system_scope_or_out_of_it(world: World) -> None:
    caller = replace(world.caller, writes_system=True)
    here = world.app.memories.store(caller, draft())
    there = world.app.memories.store(caller, draft(scope=ScopeLevel.SYSTEM))
    for id, scope in ((here.id, ScopeLevel.SYSTEM), (there.id, ScopeLevel.ORGANIZATION)):
        with pytest.raises(Conflict):
            world.app.memories.update(caller, id, {"scope": scope})
    held = replace(caller, repositories=frozenset({"r"}))
    with pytest.raises(ScopeViolation):
        world.app.memories.update(held, here.id, {"repository": "s"})


def test_what_a_caller_may_not_see_they_cannot_change_lock_link_or_bring_back(
    world: World,
) -> None:
    memory = world.app.memories.store(world.by(user="ana").caller, draft())
    mine = world.app.memories.store(world.by(user="ben").caller, draft())
    other: Caller = replace(world.caller, user="ben", role=Role.ADMIN)
    app = world.app
    before = world.contents()
    for act in (
        lambda: app.memories.update(other, memory.id, {"content": "x"}),
        lambda: app.memories.remove(other, memory.id),
        lambda: app.memories.restore(other, memory.id, 1),
        lambda: app.memories.version(other, memory.id, 1),
        lambda: app.status.lock(other, memory.id),
        lambda: app.status.unlock(other, memory.id),
        lambda: app.status.verify(other, memory.id),
        lambda: app.status.deprecate(other, memory.id, "r"),
        lambda: app.links.link(other, memory.id, mine.id),
        lambda: app.links.link(other, mine.id, memory.id),
    ):
        with pytest.raises(NotFound):
            act()
    assert world.contents() == before
