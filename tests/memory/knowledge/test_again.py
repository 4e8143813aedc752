"""A call over a network whose answer was lost is tried again, and keeps nothing a second time."""

from typing import Any

from tests.world import World

TEXT = "Refunds above 500 euros need a second approval."


def kept(world: World, **given: Any) -> tuple[str, bool]:
    """Store a memory; its id, and whether the call says that it was there."""
    arguments = {"content": TEXT, **given}
    answer = world.contract.call(world.app, world.caller, "store_memory", arguments)
    assert answer.content is not None, answer.text
    return str(answer.content["id"]), "kept" in answer.notes


def test_the_same_words_within_a_minute_are_one_memory(world: World) -> None:
    asker = world.by(token="token_1")
    first, was_kept = kept(asker, memory_type="episodic")
    assert not was_kept
    world.clock.turn(59)
    assert kept(asker, memory_type="episodic") == (first, True)
    assert world.call("list_memories")["total"] == 1
    world.clock.turn(2)
    later, was_kept = kept(asker, memory_type="episodic")
    assert later != first
    assert not was_kept


def test_other_words_another_caller_or_a_memory_that_went_are_kept(world: World) -> None:
    asker = world.by(token="token_1")
    first, _ = kept(asker)
    others = [
        kept(asker, content="Refunds wait a day."),
        kept(asker, metadata={"of": "shop"}),
        kept(asker, memory_type="procedural"),
        kept(world.by(token="token_2", name="ben")),
    ]
    assert not any(was_kept for _, was_kept in others)
    assert len({first, *(id for id, _ in others)}) == 5
    asker.call("delete_memory", id=first)
    assert kept(asker, metadata={"of": "shop"}) == (others[1][0], True)


def test_on_ones_own_machine_no_call_is_tried_again(world: World) -> None:
    assert kept(world)[0] != kept(world)[0]
