"""What `knowledge` promises of the whole: status, reset, later names, and failures."""

import threading
from typing import Any

import pytest

from minutebook.record.errors import StoreClosed
from minutebook.record.filters import Filter
from minutebook.record.records import SYSTEM_ORGANIZATION, Entry, Role
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, failed, loading

NOT_CONFIRMED = {
    "reset": False,
    "message": "Confirmation required. Set confirm=true to delete all data.",
}
NOTHING = {"memories": 0, "entities": 0, "relations": 0, "code_chunks": 0}


def fill(world: World) -> None:
    for text in ("Ana likes tea", "Ben likes milk", "Cleo sleeps"):
        world.remember(text)
    world.relate(world.entity("Ana"), world.entity("Ben"))


@requirement("knowledge/get_status/health", "knowledge/get_status/counts")
@requirement("knowledge/get_status/ready")
def test_the_status_tells_version_health_and_counts(world: World) -> None:
    fill(world)
    world.call("invalidate", id=world.ids("list_memories")[0])
    answer = world.call("get_status")
    assert list(answer) == [
        "version",
        "status",
        "memories_count",
        "entities_count",
        "code_chunks_count",
        "embedding",
        "db_dimension",
    ]
    assert (answer["version"], answer["status"]) == ("0.1.0", "healthy")
    assert (answer["memories_count"], answer["entities_count"]) == (3, 2)
    assert answer["embedding"]["status"] == "ready"


@requirement("knowledge/get_status/loading", "knowledge/get_status/ready")
def test_a_model_that_loads_is_said_to_load(opener: Opener) -> None:
    release = threading.Event()
    world = opener(loading(release))
    answer = world.call("get_status")
    assert answer["embedding"]["status"] == "loading"
    assert answer["status"] == "degraded"
    release.set()
    world.app.embedding.wait(60)
    answer = world.call("get_status")
    assert (answer["embedding"]["status"], answer["status"]) == ("ready", "healthy")


@requirement("knowledge/get_status/error")
def test_a_model_that_failed_is_said_to_have_failed(opener: Opener) -> None:
    world = opener(failed(), wait=10)
    world.remember("a")
    answer = world.call("get_status")
    assert answer["embedding"]["status"] == "error"
    assert answer["status"] == "degraded"


@requirement("knowledge/get_status/cache_stats")
def test_the_cache_statistics_count_questions(world: World) -> None:
    world.remember("a")
    for query in ("one", "two", "one"):
        world.call("search", query=query)
    stats = world.call("get_status")["embedding"]["cache_stats"]
    assert stats == {"hits": 1, "misses": 2, "size": 2}


@requirement("knowledge/system/true-model")
def test_the_status_names_the_model_in_use(opener: Opener, built_in: Any) -> None:
    answer = opener(built_in).call("get_status")
    assert answer["embedding"]["model"] == "multilingual-e5-small + all-MiniLM-L6-v2"
    assert answer["embedding"]["dimensions"] == answer["db_dimension"] == 768
    assert opener(name="other").call("get_status")["embedding"]["model"] == "words"


@requirement("knowledge/reset_all_memory/unconfirmed", "knowledge/reset_all_memory/no-error")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"confirm": False},
        {"confirm": None},
        {"confirm": 0},
        {"confirm": 1},
        {"confirm": "true"},
        {"confirm": []},
        {"confirm": {}},
        {"confirm": [True]},
    ],
)
def test_a_reset_that_is_not_confirmed_does_nothing_and_does_not_err(
    world: World, arguments: dict[str, Any]
) -> None:
    fill(world)
    before = world.contents()
    assert world.call("reset_all_memory", **arguments) == NOT_CONFIRMED
    assert world.contents() == before


@requirement("knowledge/reset_all_memory/all", "knowledge/reset_all_memory/confirmed")
def test_a_confirmed_reset_removes_everything_and_counts_it(world: World) -> None:
    fill(world)
    world.call("invalidate", id=world.ids("list_memories")[0])
    answer = world.call("reset_all_memory", confirm=True)
    assert answer == {
        "reset": True,
        "deleted": {"memories": 3, "entities": 2, "relations": 1, "code_chunks": 0},
        "kept_locked": 0,
    }
    ((_, *counts),) = world.contents().values()
    assert counts == [0] * len(counts)
    assert world.ids("search", query="tea") == world.ids("search_text", query="tea") == []
    assert world.call("reset_all_memory", confirm=True)["deleted"] == NOTHING


def test_a_reset_keeps_the_audit_trail_and_is_part_of_it(world: World) -> None:
    fill(world)
    before = world.store.count(Entry, Filter(organization="default"))
    world.call("reset_all_memory", confirm=True)
    assert world.store.count(Entry, Filter(organization="default")) == before + 1
    assert [entry.act for entry in world.entries("*")] == ["reset"]
    assert world.app.trail.verify("default") is None


def test_after_a_reset_everything_works_again(world: World) -> None:
    fill(world)
    world.call("reset_all_memory", confirm=True)
    id = world.remember("Ana likes tea")
    assert world.ids("recall", query="tea") == [id]


@requirement("knowledge/system/kept_locked", "policy/reset-unlocked")
@pytest.mark.parametrize("role", [Role.AGENT, Role.HUMAN, Role.MANAGER, Role.ARCHITECT, Role.ADMIN])
def test_a_reset_spares_what_is_locked_and_says_how_many(world: World, role: Role) -> None:
    fill(world)
    first, second, _ = world.ids("list_memories")
    world.lock(first, Role.MANAGER)
    world.lock(second, Role.ADMIN)
    answer = world.by(role=role).call("reset_all_memory", confirm=True)
    assert answer["kept_locked"] == 2
    assert answer["deleted"]["memories"] == 1
    assert set(world.ids("list_memories")) == {first, second}


@requirement("policy/reset-own")
def test_an_agents_reset_leaves_what_others_wrote(world: World) -> None:
    theirs = world.by(name="ben").remember("Ben likes milk")
    world.remember("Ana likes tea")
    answer = world.call("reset_all_memory", confirm=True)
    assert (answer["deleted"]["memories"], answer["kept_others"]) == (1, 1)
    assert world.ids("list_memories") == [theirs]
    assert world.by(role=Role.HUMAN).call("reset_all_memory", confirm=True)["reset"]
    assert world.ids("list_memories") == []


def test_a_reset_ends_at_the_callers_scopes(world: World) -> None:
    for organization in ("acme", "other", SYSTEM_ORGANIZATION):
        fill(world.by(organization=organization))
    world.by(organization="acme").call("reset_all_memory", confirm=True)
    assert world.by(organization="acme").call("get_status")["memories_count"] == 3
    assert len(world.by(organization="other").ids("list_memories")) == 6


def test_a_users_reset_leaves_what_is_anothers(world: World) -> None:
    ana, ben = world.by(user="ana"), world.by(user="ben")
    fill(ana)
    fill(ben)
    answer = ana.call("reset_all_memory", confirm=True)
    assert answer["deleted"] == {"memories": 3, "entities": 2, "relations": 1, "code_chunks": 0}
    near = ben.call("get_related", entity_id=ben.entity("Ana"))
    assert (near["entity_count"], near["relation_count"]) == (1, 1)
    assert ben.call("get_status")["memories_count"] == 3


def test_a_viewer_resets_nothing_not_even_an_empty_store(world: World) -> None:
    viewer = world.by(role=Role.VIEWER)
    assert "viewer" in viewer.refused("reset_all_memory", confirm=True)
    fill(world)
    before = world.contents()["default"][1:]
    assert "viewer" in viewer.refused("reset_all_memory", confirm=True)
    assert world.contents()["default"][1:] == before


@requirement("knowledge/system/later-search_memory")
@pytest.mark.parametrize(
    ("more", "tool"),
    [
        ({"mode": "vector"}, "search"),
        ({"mode": "bm25"}, "search_text"),
        ({"mode": "hybrid"}, "recall"),
        ({"mode": None}, "recall"),
        ({}, "recall"),
    ],
)
def test_search_memory_is_one_of_the_three_searches(
    world: World, more: dict[str, Any], tool: str
) -> None:
    fill(world)
    for limit in ({}, {"limit": 1}):
        expected = world.call(tool, query="tea", **limit)
        assert world.call("search_memory", query="tea", **limit, **more) == expected


@pytest.mark.parametrize("mode", ["", "best", 0, False, ["vector"], {}])
def test_search_memory_in_an_unknown_mode_is_refused(world: World, mode: object) -> None:
    text = world.refused("search_memory", query="tea", mode=mode)
    assert "`mode`" in text
    assert "vector, bm25, hybrid" in text


@requirement("knowledge/system/later-get_valid")
def test_get_valid_takes_a_timestamp(world: World) -> None:
    old = world.remember("a")
    world.clock.turn(9)
    world.call("invalidate", id=old)
    new = world.remember("b")
    assert world.ids("get_valid") == [new]
    assert world.ids("get_valid", timestamp="2026-01-06T12:00:05Z") == [old]
    assert "`timestamp`" in world.refused("get_valid", timestamp="then")


@requirement("knowledge/system/later-knowledge_graph")
def test_knowledge_graph_does_all_that_concerns_the_graph(world: World) -> None:
    def graph(action: str, **arguments: Any) -> dict[str, Any]:
        return world.call("knowledge_graph", action=action, **arguments)

    made = {name: graph("create_entity", name=name)["id"] for name in "abcxyz"}
    for source, target in (tuple(pair) for pair in ("ab", "bc", "ac", "xy", "yz", "xz")):
        ends = {"from_entity": made[source], "to_entity": made[target]}
        graph("create_relation", **ends, relation_type="knows")
    graph(
        "create_relation",
        from_entity=made["c"],
        to_entity=made["x"],
        relation_type="knows",
        weight=0.01,
    )
    near = graph("get_related", entity_id=made["a"])
    assert near == world.call("get_related", entity_id=made["a"])
    found = graph("detect_communities")
    assert found["community_count"] == 2
    names = [sorted(each["name"] for each in group) for group in found["communities"]]
    assert sorted(names) == [["a", "b", "c"], ["x", "y", "z"]]
    assert "`action`" in world.refused("knowledge_graph", action="draw")
    assert "`action`" in world.refused("knowledge_graph")


@pytest.mark.parametrize(
    "name",
    [
        *("search_memory", "knowledge_graph"),
        pytest.param("project_info", marks=pytest.mark.needs("code")),
        pytest.param("recall_code", marks=pytest.mark.needs("code")),
    ],
)
def test_later_names_are_called_but_not_listed(world: World, name: str) -> None:
    assert world.contract.offers(name)
    assert name not in world.contract.schema()["tools"]


def test_what_is_not_promised_is_not_listed(world: World) -> None:
    assert "detect_communities" not in world.contract.schema()["tools"]
    assert not world.contract.offers("forget_everything")


@requirement("knowledge/errors/database")
def test_a_store_that_fails_is_a_database_error(world: World) -> None:
    world.remember("a")
    world.store.close()
    with pytest.raises(StoreClosed):
        world.store.organizations()
    for tool, arguments in (
        ("list_memories", {}),
        ("store_memory", {"content": "a"}),
        ("search_text", {"query": "a"}),
        ("create_entity", {"name": "a"}),
        ("reset_all_memory", {"confirm": True}),
    ):
        text = world.refused(tool, **arguments)
        assert text.startswith("Database error. Please try again.")
