"""What `knowledge` promises of what was true when, and of what took its place."""

from itertools import pairwise

import pytest

from minutebook.record.records import Kind
from tests.serve.contracts.requirements import requirement
from tests.world import World, bare

UNKNOWN = "0" * 20


def at(second: float) -> str:
    whole, _, rest = f"{second:.6f}".partition(".")
    return f"2026-01-06T12:00:{int(whole):02d}.{rest}Z"


@requirement("knowledge/invalidate/ends", "knowledge/invalidate/output")
def test_an_invalidated_memory_ends_now_and_stays_readable(world: World) -> None:
    id = world.remember("Ana likes tea")
    world.clock.turn(9)
    assert world.call("invalidate", id=id) == {"invalidated": True}
    told = world.call("get_memory", id=id)
    assert told["valid_until"] == at(10)
    assert not {"reason", "superseded_by"} & set(told)


@requirement("knowledge/search/only-valid", "knowledge/get_valid/current")
def test_what_has_ended_is_not_found_and_not_among_the_valid(world: World) -> None:
    ended, holds = world.remember("Ana likes tea"), world.remember("Ben likes tea")
    world.call("invalidate", id=ended)
    for tool in ("search", "search_text", "recall"):
        assert world.ids(tool, query="Ana likes tea") == [holds]
    assert world.ids("get_valid") == [holds]


def test_a_memory_that_holds_from_later_on_is_not_found_yet(world: World) -> None:
    from dataclasses import replace
    from datetime import timedelta

    id = world.remember("Ana likes tea")
    world.store.put(replace(world.memory(id), valid_from=world.clock.now + timedelta(seconds=5)))
    for tool in ("search", "search_text", "recall"):
        assert world.ids(tool, query="tea") == []
    world.clock.turn(5)
    for tool in ("search", "search_text", "recall"):
        assert world.ids(tool, query="tea") == [id]


@requirement("knowledge/invalidate/reason", "knowledge/invalidate/superseded_by")
@requirement("knowledge/time/keeps")
def test_reason_and_successor_are_kept_and_shown(world: World) -> None:
    old, new = world.remember("Ana likes tea"), world.remember("Ana likes coffee")
    world.call("invalidate", id=old, reason="asked her", superseded_by=new)
    told = world.call("get_memory", id=old)
    assert (told["reason"], told["superseded_by"]) == ("asked her", new)
    (link,) = world.edges(old, Kind.LINK)
    assert (link.source, link.target, link.type) == (new, old, "supersedes")


@requirement("policy/out-of-sight")
def test_a_successor_out_of_sight_is_not_named(world: World) -> None:
    old, new = world.remember("Ana likes tea"), world.remember("Ana likes coffee", user_id="ana")
    world.call("invalidate", id=old, superseded_by=new)
    ben = world.by(user="ben")
    shown = [
        ben.call("get_memory", id=old),
        *ben.call("list_memories")["memories"],
        *ben.call("get_valid_at", timestamp=at(1))["results"],
    ]
    assert len(shown) == 3
    assert all("superseded_by" not in each for each in shown)
    assert world.by(user="ana").call("get_memory", id=old)["superseded_by"] == new


@requirement("knowledge/time/keeps")
def test_a_successor_that_is_not_there_is_refused_and_nothing_ends(world: World) -> None:
    id = world.remember("Ana likes tea")
    before = world.contents()
    text = world.refused("invalidate", id=id, superseded_by=UNKNOWN)
    assert text == f"Memory not found: {UNKNOWN}"
    assert world.contents() == before
    assert world.ids("get_valid") == [id]


@requirement("knowledge/time/idempotent")
def test_invalidating_again_keeps_the_first_end_and_what_was_said(world: World) -> None:
    old, new = world.remember("Ana likes tea"), world.remember("Ana likes coffee")
    world.call("invalidate", id=old, reason="asked her", superseded_by=new)
    once = world.call("get_memory", id=old)
    world.clock.turn(100)
    assert world.call("invalidate", id=old) == {"invalidated": True}
    assert world.call("get_memory", id=old) == once
    world.call("invalidate", id=old, reason="asked her", superseded_by=new)
    assert world.call("get_memory", id=old) == once
    assert len(world.edges(old, Kind.LINK)) == 1


def test_a_second_successor_takes_the_place_of_the_first(world: World) -> None:
    old, one, other = (world.remember(f"Ana likes {drink}") for drink in ("tea", "milk", "ale"))
    world.call("invalidate", id=old, superseded_by=one)
    world.call("invalidate", id=old, superseded_by=other)
    assert world.call("get_memory", id=old)["superseded_by"] == other
    assert [edge.source for edge in world.edges(old, Kind.LINK)] == [other]


@requirement("knowledge/recall/follows-supersession")
def test_recall_of_the_old_text_leads_to_the_new_memory(world: World) -> None:
    old = world.remember("the harbour office closes at nine")
    new = world.remember("it shuts an hour earlier in winter")
    others = [world.remember(f"the {animal} sleeps") for animal in ("cat", "dog", "bee")]
    world.call("invalidate", id=old, superseded_by=new)
    answer = world.call("recall", query="when does the harbour office close")
    assert bare(answer["results"][0]["id"]) == new
    assert old not in world.ids("recall", query="when does the harbour office close", limit=50)
    assert set(others) & set(world.ids("recall", query="cat"))


@requirement("knowledge/recall/follows-supersession")
def test_a_chain_of_supersessions_leads_to_its_end(world: World) -> None:
    chain = [
        world.remember(text)
        for text in ("harbour office", "quay bureau", "pier desk", "jetty kiosk")
    ]
    for old, new in pairwise(chain):
        world.call("invalidate", id=old, superseded_by=new)
    for query in ("harbour office", "quay bureau", "pier desk"):
        assert world.ids("recall", query=query) == [chain[-1]]


def test_a_chain_that_ends_in_nothing_valid_leads_nowhere(world: World) -> None:
    old, new = world.remember("harbour office"), world.remember("quay bureau")
    world.call("invalidate", id=old, superseded_by=new)
    world.call("invalidate", id=new)
    assert world.ids("recall", query="harbour office") == []


def test_a_memory_takes_over_from_several(world: World) -> None:
    one, other, new = (world.remember(text) for text in ("harbour office", "quay", "pier"))
    world.call("invalidate", id=one, superseded_by=new)
    world.call("invalidate", id=other, superseded_by=new)
    assert world.ids("recall", query="harbour office") == [new]
    assert world.ids("recall", query="quay") == [new]


def test_a_memory_cannot_take_its_own_place_nor_that_of_what_took_its_place(world: World) -> None:
    one, two, three = (world.remember(text) for text in ("one", "two", "three"))
    assert "itself" in world.refused("invalidate", id=one, superseded_by=one)
    world.call("invalidate", id=one, superseded_by=two)
    world.call("invalidate", id=two, superseded_by=three)
    before = world.contents()
    assert "itself" in world.refused("invalidate", id=three, superseded_by=one)
    assert world.contents() == before


def test_a_successor_whose_own_successor_was_deleted_is_still_a_successor(world: World) -> None:
    one, two, three = (world.remember(text) for text in ("one", "two", "three"))
    world.call("invalidate", id=two, superseded_by=three)
    world.call("delete_memory", id=three)
    assert world.call("invalidate", id=one, superseded_by=two) == {"invalidated": True}


def test_a_successor_in_another_organization_is_refused(world: World) -> None:
    old = world.by(organization="acme").remember("one")
    new = world.by(organization="other").remember("two")
    assert world.refused("invalidate", id=old, superseded_by=new) == (
        f"Conflict with {new}: it is in the organization 'other'; a memory can be superseded only by "
        "one of its own organization, 'acme'."
    )
    held = world.by(organization="acme")
    assert held.refused("invalidate", id=old, superseded_by=new) == f"Memory not found: {new}"


@requirement("knowledge/get_valid_at/at", "knowledge/time/half-open")
@pytest.mark.parametrize(
    ("second", "found"),
    [
        (0.999_999, []),
        (1, ["a"]),
        (1.999_999, ["a"]),
        (2, ["b", "a"]),
        (6.999_999, ["b", "a"]),
        (7, ["b"]),
        (9, ["b"]),
    ],
)
def test_a_memory_is_valid_from_its_start_until_before_its_end(
    world: World, second: float, found: list[str]
) -> None:
    first = world.remember("a")
    world.remember("b")
    world.clock.turn(5)
    world.call("invalidate", id=first)
    answer = world.call("get_valid_at", timestamp=at(second))
    assert [each["content"] for each in answer["results"]] == found
    assert answer["count"] == len(found)


@requirement("knowledge/get_valid_at/output", "knowledge/get_valid/output")
def test_the_valid_are_whole_memories_newest_first(world: World) -> None:
    made = [world.remember(f"{number}") for number in range(3)]
    whole = [world.call("get_memory", id=id) for id in reversed(made)]
    assert world.call("get_valid") == {"results": whole, "count": 3}
    assert world.call("get_valid_at", timestamp=at(3)) == {
        "results": whole,
        "count": 3,
        "timestamp": at(3),
    }


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-06T12:00:01Z",
        "2026-01-06T12:00:01.000000+00:00",
        "2026-01-06T14:00:01+02:00",
        "2026-01-06T12:00:01",
        "2026-01-06 12:00:01Z",
    ],
)
def test_an_instant_may_be_written_in_any_zone_and_is_shown_in_utc(
    world: World, written: str
) -> None:
    id = world.remember("a")
    answer = world.call("get_valid_at", timestamp=written)
    assert [bare(each["id"]) for each in answer["results"]] == [id]
    assert answer["timestamp"] == at(1)


@requirement("knowledge/time/bad-timestamp")
@pytest.mark.parametrize(
    "timestamp",
    [
        "",
        "yesterday",
        "2026-13-01T00:00:00Z",
        "2026-01-06T25:00:00Z",
        "1767700800",
        "12:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-01-06T12:00:00Z" * 9000,
    ],
)
def test_a_bad_timestamp_is_refused_with_an_example(world: World, timestamp: str) -> None:
    text = world.refused("get_valid_at", timestamp=timestamp)
    assert "`timestamp`" in text
    assert "2026-01-06T12:00:00Z" in text
    assert len(text) < 300


@requirement("knowledge/get_valid/user_id", "knowledge/get_valid_at/user_id")
def test_a_user_filter_gives_that_users_memories_only(world: World) -> None:
    ana = world.remember("a", user_id="ana")
    world.remember("b", user_id="ben")
    shared = world.remember("c")
    for tool, more in (("get_valid", {}), ("get_valid_at", {"timestamp": at(9)})):
        assert world.ids(tool, user_id="ana", **more) == [ana]
        assert world.ids(tool, user_id="nobody", **more) == []
        assert len(world.ids(tool, **more)) == 3
        assert world.by(user="ana").ids(tool, **more) == [shared, ana]
        assert world.by(user="ana").ids(tool, user_id="ben", **more) == []


@requirement(
    "knowledge/get_valid/limit", "knowledge/get_valid_at/limit", "common/bad-input/clamped"
)
def test_the_valid_are_twenty_unless_told_and_at_most_a_hundred(world: World) -> None:
    for number in range(103):
        world.remember(f"{number}")
    newest = world.ids("list_memories", limit=100)
    then = {"timestamp": "2027-01-01T00:00:00Z"}
    for tool, more in (("get_valid", {}), ("get_valid_at", then)):
        assert world.ids(tool, **more) == newest[:20]
        assert world.ids(tool, limit=3, **more) == newest[:3]
        assert world.ids(tool, limit=101, **more) == newest
        assert world.ids(tool, limit=10**30, **more) == newest


def test_what_was_believed_before_a_supersession_is_still_told_as_of_then(world: World) -> None:
    old = world.remember("Ana likes tea")
    world.clock.turn(9)
    new = world.remember("Ana likes coffee")
    world.call("invalidate", id=old, superseded_by=new)
    assert world.ids("get_valid_at", timestamp=at(5)) == [old]
    assert world.ids("get_valid_at", timestamp=at(11)) == [new]


def test_what_lies_between_can_be_deleted_and_the_past_still_leads_on(world: World) -> None:
    first, second, third = (
        world.remember(f"The code is {word}.") for word in ("ant", "bee", "cow")
    )
    world.call("invalidate", id=first, superseded_by=second)
    world.call("invalidate", id=second, superseded_by=third)
    world.call("delete_memory", id=second)
    assert world.memory(first).superseded_by == third
    assert world.ids("recall", query="ant")[0] == third


def test_what_was_superseded_by_a_deleted_memory_has_merely_ended(world: World) -> None:
    old, new = world.remember("The code is ant."), world.remember("The code is bee.")
    world.call("invalidate", id=old, superseded_by=new)
    world.call("delete_memory", id=new)
    assert "superseded_by" not in world.call("get_memory", id=old)
    assert world.memory(old).valid_until is not None
    assert world.ids("recall", query="ant") == []
