"""What `knowledge` promises of one memory, and of lists of them."""

import threading
from datetime import datetime
from typing import Any

import pytest

from minutebook.record.ids import is_id, uuid_of
from minutebook.record.records import Kind, Memory, MemoryType, Version
from minutebook.record.trust.trail import text_digest
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, WordEmbedder, World, loading, ready

pytestmark = pytest.mark.on_server

UNKNOWN = "0" * 20
LARGEST = 102_400


def versions(world: World, id: str) -> list[Version]:
    return world.app.memories.history(world.caller, world.memory(id)).versions


@requirement("knowledge/store_memory/output", "common/ids")
def test_store_memory_answers_with_twenty_lower_case_alphanumerics(world: World) -> None:
    answer = world.call("store_memory", content="Ana likes tea")
    assert set(answer) == {"id"}
    assert is_id(answer["id"])


@requirement("knowledge/store_memory/store", "knowledge/store_memory/content")
def test_a_stored_memory_is_found_by_meaning_at_once(world: World) -> None:
    id = world.remember("Ana likes tea")
    assert world.ids("search", query="tea") == [id]
    kept = world.store.vectors(Memory, "default", id)
    assert kept is not None
    assert kept[0].name == "words"


@requirement("knowledge/get_memory/get", "knowledge/get_memory/output", "knowledge/memory/long-id")
@requirement("knowledge/memory/empty-fields", "knowledge/memory/importance", "common/times")
def test_get_memory_shows_the_object_of_the_example(world: World) -> None:
    id = world.remember("Ana likes tea")
    born = "2026-01-06T12:00:01.000000Z"
    assert world.call("get_memory", id=id) == {
        "id": {"tb": "memories", "id": {"String": id}},
        "content": "Ana likes tea",
        "memory_type": "semantic",
        "event_time": born,
        "ingestion_time": born,
        "valid_from": born,
        "valid_until": None,
        "importance_score": 1.0,
        "metadata": {},
    }


def test_times_keep_their_microseconds(world: World) -> None:
    world.clock.turn(0.000_001)
    shown = world.call("get_memory", id=world.remember("a"))["valid_from"]
    assert shown == "2026-01-06T12:00:01.000001Z"
    assert datetime.fromisoformat(shown) == world.clock.now


@requirement("knowledge/store_memory/memory_type", "knowledge/memory/default-type")
def test_a_memory_is_semantic_unless_another_of_the_three_types_is_named(world: World) -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({}, "semantic"),
        ({"memory_type": None}, "semantic"),
        ({"memory_type": "episodic"}, "episodic"),
        ({"memory_type": "semantic"}, "semantic"),
        ({"memory_type": "procedural"}, "procedural"),
    ]
    for given, shown in table:
        id = world.remember("a", **given)
        assert world.call("get_memory", id=id)["memory_type"] == shown
    for other in ("fact", "Semantic", "", " episodic"):
        text = world.refused("store_memory", content="a", memory_type=other)
        assert "memory_type" in text
        assert "episodic, semantic, procedural" in text


@requirement("knowledge/store_memory/metadata")
def test_metadata_comes_back_as_it_was_given(world: World) -> None:
    given: dict[str, Any] = {
        "text": "ä\ud800\u0000",
        "list": [1, 2.5, None, True, {"deep": []}],
        "": {},
        "big": 2**60,
    }
    id = world.remember("a", metadata=given)
    assert world.call("get_memory", id=id)["metadata"] == given


@requirement("knowledge/store_memory/user_id")
def test_a_user_is_shown_only_when_set_and_keeps_the_memory_from_others(world: World) -> None:
    id = world.remember("Ana likes tea", user_id="ana")
    assert world.call("get_memory", id=id)["user_id"] == "ana"
    assert world.by(user="ana").ids("search", query="tea") == [id]
    assert world.by(user="ben").ids("search", query="tea") == []
    assert world.by(user="ben").refused("get_memory", id=id) == f"Memory not found: {id}"


@requirement("knowledge/memory/content-bounds")
@pytest.mark.parametrize(
    "content", ["a", "a" * LARGEST, "ä" * (LARGEST // 2), ".\u0000", ".\ud800"]
)
def test_content_of_one_character_to_a_hundred_kilobytes_is_kept_whole(
    world: World, content: str
) -> None:
    id = world.remember(content)
    assert world.call("get_memory", id=id)["content"] == content


@requirement("knowledge/memory/content-bounds")
@pytest.mark.parametrize("content", ["", "a" * (LARGEST + 1), "ä" * (LARGEST // 2) + "a"])
def test_empty_content_and_one_byte_too_many_are_refused(world: World, content: str) -> None:
    assert "`content`" in world.refused("store_memory", content=content)
    assert world.contents() == {}


@requirement("knowledge/store_memory/not-ready", "knowledge/errors/embedding-not-ready")
def test_while_the_model_loads_nothing_is_stored(opener: Opener) -> None:
    release = threading.Event()
    world = opener(loading(release))
    expected = "Embedding service not ready. Please try again."
    assert world.refused("store_memory", content="a") == expected
    assert world.contents() == {}
    release.set()
    world.app.embedding.wait(60)
    assert world.call("store_memory", content="a")


@requirement("knowledge/memory/both-ids", "common/ids-of-all")
def test_every_input_takes_an_id_in_each_of_its_forms(world: World) -> None:
    id, other = world.remember("Ana likes tea"), world.remember("Ana likes coffee")
    ana, ben = world.entity("Ana"), world.entity("Ben")
    for write in (
        lambda bare: bare,
        lambda bare: {"tb": "memories", "id": {"String": bare}},
        lambda bare: {"tb": "memories", "id": bare},
        lambda bare: str(uuid_of(bare)),
        lambda bare: str(uuid_of(bare)).upper(),
        lambda bare: {"tb": "memories", "id": {"String": str(uuid_of(bare))}},
    ):
        assert world.call("get_memory", id=write(id))["content"] == "Ana likes tea"
        assert world.call("update_memory", id=write(id), metadata={})["metadata"] == {}
        assert world.call("invalidate", id=write(id), superseded_by=write(other))["invalidated"]
        assert world.call("get_memory", id=id)["superseded_by"] == other
        ends = {"from_entity": write(ana), "to_entity": write(ben)}
        related = world.call("create_relation", **ends, relation_type="knows")["id"]
        assert related == world.relate(ana, ben)
        assert world.call("get_related", entity_id=write(ana))["entity_count"] == 1
        third = world.remember("Ana likes milk")
        assert world.call("delete_memory", id=write(third)) == {"deleted": True}


@requirement("knowledge/get_memory/not-found", "knowledge/update_memory/not-found")
@requirement("knowledge/memory/unknown", "knowledge/errors/memory-not-found")
def test_an_unknown_id_is_named_in_the_error(world: World) -> None:
    for tool, more in [("get_memory", {}), ("update_memory", {"content": "a"}), ("invalidate", {})]:
        for id in (UNKNOWN, "no such", "{id}"):
            assert world.refused(tool, id=id, **more) == f"Memory not found: {id}"


@requirement("knowledge/delete_memory/hard", "knowledge/delete_memory/output")
def test_a_deleted_memory_is_gone_with_its_versions_vectors_and_mentions(world: World) -> None:
    world.entity("Ana")
    id = world.remember("Ana likes tea")
    world.call("update_memory", id=id, content="Ana likes coffee")
    assert world.call("delete_memory", id=id) == {"deleted": True}
    assert world.refused("get_memory", id=id) == f"Memory not found: {id}"
    assert world.ids("search", query="coffee") == world.ids("search_text", query="coffee") == []
    assert world.store.edges("default", [id]) == []
    assert world.store.vectors(Memory, "default", id) is None
    assert world.call("list_memories")["total"] == 0
    _, memories, kept_versions, *_ = world.contents()["default"]
    assert (memories, kept_versions) == (0, 0)


@requirement("knowledge/memory/delete-unknown")
def test_deleting_an_unknown_id_says_so_without_an_error(world: World) -> None:
    assert world.call("delete_memory", id=UNKNOWN) == {"deleted": False}
    id = world.remember("a")
    world.call("delete_memory", id=id)
    before = world.contents()
    assert world.call("delete_memory", id=id) == {"deleted": False}
    assert world.contents() == before


@requirement("knowledge/update_memory/only-given", "knowledge/update_memory/output")
def test_an_update_changes_what_is_given_and_shows_the_whole_memory(world: World) -> None:
    id = world.remember("Ana likes tea", metadata={"a": 1}, user_id="ana")
    before = world.call("get_memory", id=id)
    world.clock.turn()
    changes: list[dict[str, Any]] = [
        {"content": "Ana likes coffee"},
        {"memory_type": "episodic"},
        {"metadata": {"b": 2}},
        {"metadata": {}},
        {"content": "Ana likes milk", "memory_type": "procedural", "metadata": {"c": []}},
        {"content": None, "memory_type": None, "metadata": None},
        {},
    ]
    for change in changes:
        expected = before | {key: value for key, value in change.items() if value is not None}
        assert world.call("update_memory", id=id, **change) == expected
        assert world.call("get_memory", id=id) == expected
        before = expected


@requirement("knowledge/update_memory/re-embeds", "knowledge/memory/re-embeds-only-content")
def test_only_a_changed_content_is_embedded_again(opener: Opener) -> None:
    embedder = WordEmbedder()
    world = opener(ready(embedder), wait=10)
    id = world.remember("Ana likes tea")
    world.call("update_memory", id=id, metadata={"a": 1}, memory_type="episodic")
    world.call("update_memory", id=id, content="Ana likes tea")
    assert embedder.embedded == ["Ana likes tea"]
    world.call("update_memory", id=id, content="Ben rows")
    assert embedder.embedded == ["Ana likes tea", "Ben rows"]
    (found,) = world.call("search", query="Ben rows")["results"]
    assert found["score"] > 0.99
    assert world.ids("search_text", query="tea") == []


@requirement("knowledge/update_memory/not-ready")
def test_while_the_model_loads_content_cannot_change_but_the_rest_can(opener: Opener) -> None:
    id = opener(name="same").remember("Ana likes tea")
    release = threading.Event()
    world = opener(loading(release), name="same")
    before = world.contents()
    text = world.refused("update_memory", id=id, content="Ana likes coffee")
    assert text.startswith("Embedding service not ready")
    assert world.contents() == before
    assert world.call("update_memory", id=id, metadata={"a": 1})["metadata"] == {"a": 1}
    assert world.call("update_memory", id=id, content="Ana likes tea")["content"] == "Ana likes tea"
    release.set()


@requirement("common/null-is-absent")
def test_null_is_as_good_as_not_given(world: World) -> None:
    id = world.remember("a", memory_type=None, user_id=None, metadata=None)
    assert "user_id" not in world.call("get_memory", id=id)
    assert world.ids("search", query="a", limit=None) == [id]
    assert world.call("list_memories", limit=None, offset=None)["limit"] == 20
    assert world.ids("get_valid", user_id=None, limit=None) == [id]
    assert world.ids("recall", query="a", vector_weight=None, project_id=None) == [id]
    assert "`content` is required" in world.refused("store_memory", content=None).replace(":", "")


@requirement("knowledge/list_memories/newest-first", "knowledge/list_memories/output")
def test_a_list_has_the_newest_first_and_shows_all_that_is_not_deleted(world: World) -> None:
    first, second = world.remember("a"), world.remember("b")
    world.call("invalidate", id=first)
    answer = world.call("list_memories")
    assert world.ids("list_memories") == [second, first]
    assert {key: answer[key] for key in ("total", "limit", "offset")} == {
        "total": 2,
        "limit": 20,
        "offset": 0,
    }
    assert answer["memories"][1] == world.call("get_memory", id=first)


@requirement("knowledge/list_memories/pagination")
def test_a_page_holds_at_most_a_hundred_memories(world: World) -> None:
    for number in range(103):
        world.remember(f"{number}")
    assert len(world.ids("list_memories", limit=100)) == 100
    assert "at most 100" in world.refused("list_memories", limit=101)


@requirement("knowledge/list_memories/pagination")
def test_pages_hold_every_memory_once_whatever_ties_there_are(world: World) -> None:
    made = []
    for number in range(23):
        world.clock.turn(number % 3 == 0)
        made.append(world.call("store_memory", content=f"{number}")["id"])
    whole = world.ids("list_memories", limit=100)
    assert sorted(whole) == sorted(made)
    assert len(world.ids("list_memories")) == 20
    for limit in (1, 7, 20, 100):
        pages = [
            world.ids("list_memories", limit=limit, offset=offset) for offset in range(0, 23, limit)
        ]
        assert [id for page in pages for id in page] == whole
    assert world.ids("list_memories", offset=23) == []
    assert world.call("list_memories", offset=1000)["total"] == 23


def test_pages_over_several_organizations_are_one_list(world: World) -> None:
    made = []
    for number in range(9):
        teller = world.by(organization=f"o{number % 3}")
        made.append(teller.remember(f"{number}"))
    assert world.ids("list_memories", limit=100) == made[::-1]
    pages = [world.ids("list_memories", limit=2, offset=offset) for offset in range(0, 10, 2)]
    assert [id for page in pages for id in page] == made[::-1]
    assert world.call("list_memories", limit=2)["total"] == 9


def test_each_change_of_the_text_keeps_the_earlier_version(world: World) -> None:
    teller = world.by(name="ana", request="r1")
    id = teller.remember("one")
    world.by(name="ben", request="r2").call("update_memory", id=id, content="two")
    world.call("update_memory", id=id, metadata={"a": 1})
    kept = versions(world, id)
    assert [(v.number, v.content, v.changed_by, v.request) for v in kept] == [
        (1, "one", "ana", "r1"),
        (2, "two", "ben", "r2"),
    ]
    assert world.memory(id).version == 2


def test_every_act_leaves_one_entry_with_digests_and_never_the_text(world: World) -> None:
    teller = world.by(name="ana", request="r1")
    one, two = teller.remember("one"), teller.remember("two")
    teller.call("update_memory", id=one, content="other")
    teller.call("update_memory", id=one, metadata={"a": 1})
    teller.call("invalidate", id=one, superseded_by=two)
    teller.call("delete_memory", id=one)
    one_is, other = text_digest("one"), text_digest("other")
    assert [(e.act, e.outcome, e.before, e.after) for e in world.entries(one)] == [
        ("created", "done", "", one_is),
        ("update", "done", one_is, other),
        ("update", "done", other, other),
        ("invalidate", "done", other, other),
        ("delete", "done", other, ""),
    ]
    assert {(e.actor, e.request, e.subject_kind) for e in world.entries(one)} == {
        ("ana", "r1", Kind.MEMORY)
    }
    assert world.app.trail.verify("default") is None


def test_a_memory_of_another_contracts_type_is_shown_as_it_is(world: World) -> None:
    from dataclasses import replace

    id = world.remember("a")
    world.store.put(replace(world.memory(id), type=MemoryType.FACT, title="Title"))
    assert world.call("get_memory", id=id)["memory_type"] == "fact"
    assert world.call("update_memory", id=id, content="b")["memory_type"] == "fact"
