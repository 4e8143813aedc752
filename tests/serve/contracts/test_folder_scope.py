"""What a folder changes of each contract, and what it leaves: a default for what a call does not name."""

from pathlib import Path

import pytest

from minutebook.features.catalog.contract import catalog
from minutebook.features.journal.contract import journal
from minutebook.features.ledger.contract import ledger
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.caller import FolderScope, without_folder_scope
from tests.world import World

API, WEB = FolderScope("acme/api"), FolderScope("acme/web")


@pytest.fixture
def api(world: World) -> World:
    return world.by(folder_scope=API)


@pytest.fixture
def web(world: World) -> World:
    return world.by(folder_scope=WEB)


@pytest.fixture
def nowhere(world: World) -> World:
    return world.by(folder_scope=FolderScope())


def test_knowledge_keeps_projects_apart_and_shows_what_is_everyones(
    world: World, api: World, web: World, nowhere: World
) -> None:
    before = world.remember("The kettle was here before")
    own, other = api.remember("The kettle of api"), web.remember("The kettle of web")
    shared = nowhere.remember("The kettle of all")
    for tool, more in (
        ("recall", {"query": "kettle"}),
        ("search_text", {"query": "kettle"}),
        ("search", {"query": "kettle"}),
        ("list_memories", {}),
        ("get_valid", {}),
    ):
        assert set(api.ids(tool, **more)) == {before, own, shared}, tool
        assert set(nowhere.ids(tool, **more)) == {before, shared}, tool
        assert set(world.ids(tool, **more)) == {before, own, other, shared}, tool
    assert api.call("get_status")["memories_count"] == 3
    # What is named is found wherever it is; so it can be changed, too.
    assert api.call("get_memory", id=other)["content"] == "The kettle of web"
    api.call("update_memory", id=other, content="The kettle of web is new")
    assert set(api.ids("list_memories")) == {before, own, shared}


def test_a_reset_in_one_project_leaves_the_others(world: World, api: World, web: World) -> None:
    api.remember("The kettle of api")
    other = web.remember("The kettle of web")
    assert api.call("reset_all_memory", confirm=True)["deleted"]["memories"] == 1
    assert world.ids("list_memories") == [other]


def test_entities_of_one_name_are_two_in_two_projects(api: World, web: World) -> None:
    assert api.entity("Kettle") != web.entity("Kettle")
    assert api.entity("Kettle") == api.entity("Kettle")


def test_catalog_goes_by_what_a_call_names(api: World, web: World) -> None:
    here, there = api.speaking(catalog()), web.speaking(catalog())
    fact = {"organization": "default", "memory_type": "fact"}

    def written(world: World, content: str, **more: str) -> str:
        shape = world.call("memory-write", **fact, current_content=content, **more)
        id: str = shape["id"]
        return id

    own = written(here, "The kettle of api", scope_type="repository")
    named = written(here, "The kettle of web", scope_type="repository", repository="acme/web")
    shared = written(here, "The kettle of all", scope_type="organization")

    def found(world: World, **filters: str) -> set[str]:
        return {each["id"] for each in world.told("memory-search", query="kettle", filters=filters)}

    assert found(here) == {own, shared}
    assert found(there) == found(here, repository="acme/web") == {named, shared}


def test_a_decision_belongs_to_the_project_and_is_superseded_from_anywhere(
    world: World, api: World, web: World
) -> None:
    act = {"target": "database", "title": "Use SQLite", "rationale": "It is one file and enough."}
    made = api.speaking(ledger()).call("record_decision", **act)["decision_id"]
    decision = world.app.get(DecisionActs).read(without_folder_scope(api.caller), made)
    assert decision.repository == "acme/api"
    other = web.speaking(ledger()).call("record_decision", **act)["decision_id"]
    found = api.speaking(ledger()).call("search_decisions", query="database")["results"]
    assert [each["id"] for each in found] == [made]
    new = web.speaking(ledger()).call("supersede_decision", **act, old_decision_ids=[made])
    assert (
        world.app.get(DecisionActs).read(world.caller, new["decision_id"]).repository == "acme/api"
    )
    assert other != made


def test_a_session_is_read_by_its_name_from_anywhere(api: World, web: World) -> None:
    turn = {"prompt": "Boil", "thought": "", "response": "Done"}
    here, there = api.speaking(journal()), web.speaking(journal())
    here.call("add_memory", **turn, sessionId="s1")
    assert there.call("get_session_memories", sessionId="s1")["count"] == 1
    assert there.call("query_raw_memories", query="Boil")["count"] == 0
    assert here.call("query_raw_memories", query="Boil")["count"] == 1
    assert here.call("healthcheck")["status"] == there.call("healthcheck")["status"]


@pytest.mark.needs("code")
def test_an_index_of_code_is_of_the_folder_that_is_named(
    world: World, api: World, web: World, tmp_path: Path
) -> None:
    (tmp_path / "kettle.py").write_text("def kettle(): pass\n")
    indexed = api.call("index_project", path=str(tmp_path))["project_id"]
    assert web.call("list_projects")["projects"] == [indexed]


def test_an_archive_is_of_everything_that_its_caller_may_see(
    world: World, api: World, web: World, tmp_path: Path
) -> None:
    for each in (api, web):
        each.speaking(journal()).call(
            "add_memory", sessionId="s", prompt="a", thought="", response="b"
        )
    report = api.speaking(journal()).call("export_database")
    assert sum(report["counts"].values()) == 2
