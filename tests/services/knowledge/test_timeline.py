"""What was known and true at an instant, and what changed between two."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from minutebook.domain.records import Memory, MemoryType
from minutebook.domain.writing.drafts import Draft
from minutebook.features.pages import timeline as module
from minutebook.features.pages.services import PageServices
from minutebook.features.pages.timeline import Event
from tests.world import World

DAY = 86_400.0


def keep(world: World, text: str, **said: Any) -> Memory:
    """Keep a memory a day after the last act."""
    world.clock.turn(DAY)
    return world.app.memories.store(world.caller, Draft(content=text, type=MemoryType.FACT, **said))


def known(world: World, at: datetime) -> list[str]:
    found, total = world.app.get(PageServices).timeline.known_at(world.caller, at, 9)
    assert total == len(found)
    return [each.memory.content for each in found]


def true(world: World, at: datetime) -> list[str]:
    return [
        each.content
        for each in world.app.get(PageServices).timeline.true_at(world.caller, at, 9)[0]
    ]


def changed(world: World, since: datetime, until: datetime) -> dict[str, tuple[Event, ...]]:
    found = world.app.get(PageServices).timeline.changes(world.caller, since, until)
    return {each.id: each.events for each in found.changes}


def test_what_was_known_has_the_text_of_then_and_leaves_out_what_was_learned_later(
    world: World,
) -> None:
    caller, memories = world.caller, world.app.memories
    noon = world.clock.now
    assert world.app.get(PageServices).timeline.first(caller) is None
    tea = keep(world, "Tea at four")
    after_tea = world.clock.turn(60)
    cake = keep(world, "Cake at five", valid_from=noon - timedelta(days=9))
    after_cake = world.clock.turn(60)
    world.clock.turn(60)
    memories.update(caller, tea.id, {"content": "Tea at six"})
    memories.invalidate(caller, cake.id, "eaten", None)
    now = world.clock.turn(60)
    assert known(world, after_tea) == ["Tea at four"]
    assert known(world, after_cake) == ["Cake at five", "Tea at four"]
    assert known(world, now) == ["Tea at six"]
    assert true(world, noon) == ["Cake at five"]
    assert true(world, after_tea) == ["Cake at five", "Tea at six"]
    assert known(world, noon) == []
    (then,), _ = world.app.get(PageServices).timeline.known_at(caller, after_tea, 9)
    assert then.is_edited
    assert world.app.get(PageServices).timeline.first(caller) == tea.ingestion_time


def test_changes_say_what_happened_to_each_memory_in_the_span_alone(world: World) -> None:
    app, caller = world.app, world.caller
    begin = world.clock.now
    edited, old, gone = (keep(world, f"{name} text") for name in ("edited", "old", "gone"))
    removed, ended = keep(world, "removed text"), keep(world, "ended text")
    runs_out = keep(world, "short text", valid_until=world.clock.now + timedelta(days=3))
    middle = world.clock.turn(60)
    app.memories.update(caller, edited.id, {"content": "edited anew"})
    new = keep(world, "new text")
    app.memories.invalidate(caller, old.id, None, new.id)
    app.memories.invalidate(caller, ended.id, "over", None)
    app.memories.remove(caller, removed.id)
    app.memories.delete(caller, gone.id)
    end = world.clock.turn(3 * DAY)
    assert changed(world, begin, middle) == {
        each.id: (Event.ADDED,) for each in (edited, old, removed, ended, runs_out)
    }
    assert changed(world, middle, end) == {
        edited.id: (Event.EDITED,),
        old.id: (Event.SUPERSEDED,),
        ended.id: (Event.ENDED,),
        removed.id: (Event.REMOVED,),
        runs_out.id: (Event.ENDED,),
        new.id: (Event.ADDED,),
        gone.id: (Event.REMOVED,),
    }
    assert changed(world, end, end + timedelta(days=1)) == {}
    found = {
        each.id: each
        for each in app.get(PageServices).timeline.changes(caller, middle, end).changes
    }
    assert found[old.id].successor == app.memories.read(caller, new.id)
    assert found[gone.id].memory is None
    before, after = app.get(PageServices).timeline.texts(
        app.memories.read(caller, edited.id), middle, end
    )
    assert (before.content, after.content) == ("edited text", "edited anew")


def test_who_sees_a_part_hears_of_changes_in_that_part_alone(world: World) -> None:
    begin = world.clock.now
    mine = keep(world.by(user="ana"), "mine")
    other = keep(world.by(user="ben"), "other")
    lost = keep(world.by(user="ben"), "lost")
    world.app.memories.delete(world.caller, lost.id)
    end = world.clock.turn()
    ana = world.by(user="ana")
    assert changed(ana, begin, end).keys() == {mine.id}
    assert changed(world, begin, end).keys() == {mine.id, other.id, lost.id}
    assert known(ana, end) == true(ana, end) == ["mine"]


def test_of_very_many_acts_the_latest_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    begin = world.clock.now
    tea, cake = keep(world, "tea"), keep(world, "cake")
    for text in ("cake 1", "cake 2"):
        world.clock.turn(DAY)
        world.app.memories.update(world.caller, cake.id, {"content": text})
    found = world.app.get(PageServices).timeline.changes(world.caller, begin, world.clock.turn())
    assert found.is_cut
    assert [each.id for each in found.changes] == [cake.id, tea.id]
    assert found.changes[0].events == (Event.ADDED, Event.EDITED)
    assert found.changes[1].entries == ()


def test_of_very_many_memories_that_began_those_of_the_greatest_ids_are_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = world.clock.now
    keep(world, "tea")
    kept = {keep(world, text).id for text in ("cake", "bread")}
    end = world.clock.turn()
    assert not world.app.get(PageServices).timeline.changes(world.caller, begin, end).is_cut
    monkeypatch.setattr(module, "MOST", 2)
    found = world.app.get(PageServices).timeline.changes(world.caller, begin, end)
    assert found.is_cut
    assert {each.id for each in found.changes} == kept
