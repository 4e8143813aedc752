"""The checker itself: whatever does not hold is named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.config import Settings
from minutebook.disk.filelock import FileLock
from minutebook.domain.drafts import Draft
from minutebook.domain.records import Decision, Entry, Memory, MemoryType, Turn
from tests.faults.invariants import PROBER, Acknowledged, check, of_app, of_folder, violations
from tests.services.decided import PERSON, draft
from tests.world import Opener, World, everything


@pytest.fixture
def kept(opener: Opener) -> World:
    """A world with a memory, a turn and a decision."""
    world = opener(name="home")
    world.app.memories.store(PROBER, Draft(content="tea", type=MemoryType.FACT))
    world.app.sessions.add(PROBER, "s1", "hello", "", "")
    world.app.decisions.record(PERSON, draft(title="Use SQLite"))
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
    return next(iter(world.store.find(Memory, everything("default"))))


def lose(world: World) -> None:
    world.store.delete(Turn, "default", world.store.find(Turn, everything("default"))[0].id)


WRONG: dict[str, Callable[[World], object]] = {
    "lost: the Turn 'hello'": lose,
    "twice: the Memory 'tea'": lambda world: world.store.put(replace(memory_of(world), id="other")),
    "half: memory": lambda world: world.store.put(replace(memory_of(world), content="wine")),
    "half: entry": lambda world: world.store.delete(Memory, "default", memory_of(world).id),
    "trail of default breaks": lambda world: world.store.delete(Entry, "default", "2"),
    "the tables and Git differ": lambda world: world.store.delete(
        Decision, "default", world.store.find(Decision, everything("default"))[0].id
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
    settings = Settings(home=tmp_path / "home", embedder="none")
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
