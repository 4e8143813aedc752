"""The checker itself: whatever does not hold is named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from minutebook.config import settings_with
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Decision,
    Entry,
    Link,
    Memory,
    MemoryType,
    Record,
    Relation,
    Role,
    Token,
    Turn,
)
from minutebook.record.rights.grants import Grant
from minutebook.record.writing.drafts import Draft
from minutebook.store.disk.filelock import FileLock
from tests.faults.invariants import PROBER, Acknowledged, check, of_app, of_folder, violations
from tests.features.archives.test_archives import ADMIN
from tests.features.ledger.decided import PERSON, draft
from tests.world import Opener, World, everything

R = TypeVar("R", bound=Record)


@pytest.fixture
def kept(opener: Opener) -> World:
    """A world with linked memories, related entities, a turn, a decision and a token."""
    world = opener(name="home")
    one, other = (
        world.app.memories.store(PROBER, Draft(content=content, type=MemoryType.FACT)).id
        for content in ("tea", "milk")
    )
    world.app.links.link(PROBER, one, other)
    world.relate(world.entity("Ana"), world.entity("Bo"))
    world.app.tokens.create(ADMIN, Grant(name="ci", role=Role.VIEWER))
    world.app.sessions.add(PROBER, "s1", "hello", "", "")
    world.app.get(DecisionActs).record(PERSON, draft(title="Use SQLite"))
    return world


def told() -> Acknowledged:
    said = Acknowledged()
    said.note(Memory, "tea")
    said.note(Turn, "hello")
    said.note(Decision, "Use SQLite")
    return said


def test_nothing_is_wrong_where_nothing_happened(kept: World, tmp_path: Path) -> None:
    kept.app.close()
    said = told()
    said.note(Memory, "coffee")
    said.note_gone(Memory, "coffee")
    check(tmp_path / "home", said)


def memory_of(world: World) -> Memory:
    return next(each for each in all_of(world, Memory) if each.content == "tea")


def all_of(world: World, of: type[R], organization: str = "default") -> list[R]:
    return world.store.find(of, everything(organization))


def one_of(world: World, of: type[R]) -> R:
    return all_of(world, of)[0]


def lose(world: World) -> None:
    world.store.delete(Turn, "default", one_of(world, Turn).id)


WRONG: dict[str, Callable[[World], object]] = {
    "lost: the Turn 'hello'": lose,
    "twice: the Memory 'tea'": lambda world: world.store.put(replace(memory_of(world), id="other")),
    "half: memory": lambda world: world.store.put(replace(memory_of(world), content="wine")),
    "half: entry": lambda world: world.store.delete(Memory, "default", memory_of(world).id),
    "its locked_by is not what": lambda world: world.store.put(
        replace(memory_of(world), locked_by=Role.ADMIN)
    ),
    "turn mem_": lambda world: world.store.put(replace(one_of(world, Turn), author="forged")),
    "its type is not what": lambda world: world.store.put(
        replace(one_of(world, Relation), type="hates")
    ),
    "it is missing, and the trail": lambda world: world.store.delete(
        Link, "default", one_of(world, Link).id
    ),
    "its role is not what": lambda world: world.store.put(
        replace(all_of(world, Token, SYSTEM_ORGANIZATION)[0], role=Role.ADMIN)
    ),
    "the trail has no entry with its digest": lambda world: world.store.put(
        replace(one_of(world, Turn), id="mem_2020-01-01T00:00:00.000000Z", prompt="never told")
    ),
    "trail of default breaks": lambda world: world.store.delete(Entry, "default", "2"),
    "the tables and Git differ": lambda world: world.store.delete(
        Decision, "default", one_of(world, Decision).id
    ),
}


@pytest.mark.parametrize("finding", WRONG)
def test_what_is_lost_doubled_or_half_in_the_store_is_named(kept: World, finding: str) -> None:
    assert of_app(kept.app, told()) == []
    WRONG[finding](kept)
    assert any(each.startswith(finding) or finding in each for each in of_app(kept.app, told()))


def test_what_came_back_is_named(kept: World) -> None:
    said = told()
    said.note_gone(Memory, "tea")
    assert of_app(kept.app, said) == ["back: the Memory 'tea' is there again"]


def test_leftovers_and_held_locks_are_named(kept: World, tmp_path: Path) -> None:
    kept.app.close()
    settings = settings_with(home=tmp_path / "home", embedder="none")
    assert of_folder(settings) == []
    (settings.home / ".a.1.minutebook.part").touch()
    held = FileLock(settings.home / "minutebook.db-lock")
    held.acquire(0)
    assert of_folder(settings) == [
        "left over: .a.1.minutebook.part",
        "locked: minutebook.db-lock",
    ]
    held.close()
    # The next start clears it away.
    assert violations(settings.home, told()) == []
