"""What a client of `catalog` writes: new memories, changes, ends, links, batches."""

import json
import uuid
from typing import Any

import pytest

from minutebook.record.ids import id_of
from minutebook.record.policy import Policy
from minutebook.record.records import SYSTEM_ORGANIZATION, Entry, Role, Status
from tests.features.catalog.contract.cataloged import UNKNOWN, facts_of, found, kept, read, write
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, everything


@pytest.fixture
def facts(world: World) -> World:
    return facts_of(world)


@requirement("catalog/memory-write/creates", "catalog/memory-write/response", "common/ids-uuid")
def test_a_new_memory_is_answered_as_the_object_of_the_response_schema(facts: World) -> None:
    told = write(facts, "Deploy on Tuesdays", title="Deploys", metadata={"team": "ops"})
    assert uuid.UUID(told.pop("id")).version == 8
    assert told == {
        "organization": "acme",
        "repository": None,
        "scope_type": "organization",
        "memory_type": "fact",
        "title": "Deploys",
        "current_content": "Deploy on Tuesdays",
        "status": "draft",
        "importance": 1,
        "metadata": {"team": "ops"},
        "created_at": "2026-01-06T12:00:01.000000Z",
        "updated_at": "2026-01-06T12:00:01.000000Z",
    }


@requirement("catalog/memory-write/response", "common/results/text-and-structured")
def test_the_answer_is_the_object_as_a_json_string_and_as_structured_content(facts: World) -> None:
    said = {"organization": "a", "scope_type": "user", "memory_type": "fact"}
    answer = facts.contract.call(
        facts.app, facts.caller, "memory-write", said | {"current_content": "naïve"}
    )
    assert answer.content is not None
    assert json.loads(answer.text) == dict(answer.content)
    assert "naïve" in answer.text


@requirement(
    "catalog/memory-write/types", "catalog/memory-write/business-rule", "catalog/enums/type"
)
def test_every_type_of_the_contract_can_be_written(facts: World) -> None:
    promise = facts.contract.tools["memory-write"].promise
    for each in promise["inputSchema"]["properties"]["memory_type"]["enum"]:
        assert write(facts, each, memory_type=each)["memory_type"] == each


@requirement("catalog/memory-write/new-uuid")
def test_without_an_id_each_write_makes_another_memory(facts: World) -> None:
    assert write(facts)["id"] != write(facts)["id"]


@requirement("catalog/memory-write/upsert", "catalog/memory-write/unknown-id")
@pytest.mark.parametrize("given", [UNKNOWN, UNKNOWN.upper(), str(uuid.UUID(int=7, version=4))])
def test_an_unknown_uuid_becomes_the_id_and_a_known_one_is_updated(
    facts: World, given: str
) -> None:
    first = write(facts, "one", id=given)
    assert first["id"] == given.lower()
    second = write(facts, "two", id=given)
    assert second["id"] == first["id"]
    assert second["created_at"] == first["created_at"]
    assert found(facts) == ["two"]
    assert json.loads(read(facts, f"memory://{given}"))["current_content"] == "two"
    assert facts.told("memory-delete", id=given) == (
        f"Memory {given.lower()} has been soft-deleted."
    )


@requirement("catalog/memory-write/upsert")
def test_writing_the_same_again_under_an_id_changes_nothing_but_the_time(facts: World) -> None:
    first = write(facts, "one", id=UNKNOWN, title="t", importance=4, metadata={"k": 1})
    again = write(facts, "one", id=UNKNOWN, title="t", importance=4, metadata={"k": 1})
    assert {**again, "updated_at": ""} == {**first, "updated_at": ""}
    assert kept(facts, UNKNOWN).version == 1


def test_an_upsert_leaves_alone_what_is_not_said(facts: World) -> None:
    write(facts, "one", id=UNKNOWN, title="t", importance=4, status="active", metadata={"k": 1})
    after = write(facts, "two", id=UNKNOWN)
    assert (after["title"], after["importance"], after["status"]) == ("t", 4, "active")
    assert after["metadata"] == {"k": 1}


@requirement("catalog/memory-write/restores")
def test_writing_under_a_deleted_id_brings_the_memory_back(facts: World) -> None:
    id = write(facts, "one", title="t")["id"]
    facts.told("memory-delete", id=id)
    assert found(facts) == []
    assert write(facts, "two", id=id)["title"] == "t"
    assert found(facts) == ["two"]


@requirement(
    "catalog/memory-write/default-status",
    "catalog/memory-write/default-importance",
    "catalog/enums/status",
)
def test_a_new_memory_is_a_draft_of_importance_one_unless_it_is_said(facts: World) -> None:
    told = write(facts)
    assert (told["status"], told["importance"]) == ("draft", 1)
    for status in ("draft", "verified", "deprecated", "active"):
        assert write(facts, status, status=status)["status"] == status
    assert write(facts, importance=10)["importance"] == 10
    for wrong in (0, 11, 1.5, "much"):
        assert facts.failure("memory-write", **said(importance=wrong)).code == -32602


def said(**more: Any) -> dict[str, Any]:
    told = {"organization": "acme", "scope_type": "organization", "memory_type": "fact"}
    return {**told, "current_content": "x", **more}


@requirement("catalog/memory-write/warnings")
@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"title": "one two three four five six seven eight nine ten eleven twelve 13"}, "title"),
        ({"metadata": {str(n): n for n in range(6)}}, "keys"),
        ({"metadata": {"a": {"b": 1}}}, "flat"),
        ({"metadata": {"a": [1]}}, "flat"),
        ({"metadata": {"a": "b" * 51}}, "long"),
    ],
)
def test_what_breaks_a_rule_of_the_index_is_stored_with_a_warning(
    facts: World, more: dict[str, Any], word: str
) -> None:
    told = write(facts, **more)
    (warning,) = told["warnings"]
    assert word in warning
    assert json.loads(read(facts, f"memory://{told['id']}"))["metadata"] == more.get("metadata", {})
    assert facts.call("memory-update", id=told["id"], status="active")["warnings"] == [warning]
    (item,) = facts.told("memory-batch-write", items=[said(**more)])
    assert item["warnings"] == [warning]


def test_what_keeps_the_rules_of_the_index_has_no_warnings(facts: World) -> None:
    title = "one two three four five six seven eight nine ten eleven twelve"
    metadata = {"a": "b" * 50, "c": 1, "d": None, "e": True, "f": 0.5}
    assert "warnings" not in write(facts, title=title, metadata=metadata)


@requirement("catalog/memory-update/updates", "catalog/memory-update/partial")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", "new"),
        ("current_content", "new"),
        ("status", "active"),
        ("scope_type", "user"),
        ("memory_type", "risk"),
        ("importance", 9),
        ("metadata", {"new": True}),
    ],
)
def test_only_what_is_given_changes(facts: World, name: str, value: Any) -> None:
    before = write(facts, title="t", metadata={"k": "v"}, importance=3)
    facts.clock.turn()
    after = facts.call("memory-update", id=before["id"], **{name: value})
    assert after == before | {name: value, "updated_at": "2026-01-06T12:00:02.000000Z"}


@requirement("catalog/memory-update/idempotent")
def test_the_same_update_twice_ends_in_the_same_state(facts: World) -> None:
    id = write(facts)["id"]
    change = {"id": id, "current_content": "new", "status": "verified"}
    once = facts.call("memory-update", **change)
    assert facts.call("memory-update", **change) == once
    assert kept(facts, id).version == 2


@pytest.mark.parametrize("tool", ["memory-update", "memory-write"])
def test_an_update_to_the_same_values_changes_nothing(facts: World, tool: str) -> None:
    said = {"title": "t", "metadata": {"k": 1, "l": [2]}, "importance": 3, "status": "verified"}
    first = write(facts, **said)
    other = write(facts, "Ben likes coffee")
    facts.clock.turn()
    trail = len(facts.trail())
    same = {**said, "current_content": "Ana likes tea"}
    if tool == "memory-write":
        same |= {"organization": "acme", "scope_type": "organization", "memory_type": "fact"}
    assert facts.call(tool, id=first["id"], **same) == first
    assert len(facts.trail()) == trail
    index = json.loads(read(facts, "memory://index"))
    assert [each["id"] for each in index] == [other["id"], first["id"]]
    # Another order of keys, and another kind of one, are a change.
    for metadata in ({"l": [2], "k": 1}, {"l": [2], "k": True}):
        facts.clock.turn()
        changed = facts.call("memory-update", id=first["id"], metadata=metadata)
        assert changed["updated_at"] > first["updated_at"]
        assert json.dumps(changed["metadata"]) == json.dumps(metadata)


@requirement("catalog/memory-update/null-clears", "common/null-is-absent")
def test_null_clears_title_and_metadata_and_elsewhere_counts_as_not_given(facts: World) -> None:
    before = write(facts, title="t", metadata={"k": 1}, importance=7, status="active")
    cleared = facts.call("memory-update", id=before["id"], title=None, metadata=None)
    assert (cleared["title"], cleared["metadata"]) == ("Ana likes tea", {})
    assert kept(facts, before["id"]).title is None
    kept_as_was = facts.call(
        "memory-update",
        id=before["id"],
        title="n",
        current_content=None,
        status=None,
        importance=None,
    )
    assert kept_as_was == cleared | {"title": "n"}
    bare = write(facts, title=None, metadata=None, id=None, repository=None)
    assert kept(facts, bare["id"]).title is None


@requirement("catalog/memory-update/empty")
@pytest.mark.parametrize("more", [{}, {"status": None}])
def test_an_update_without_a_change_is_an_error_that_names_the_fields(
    facts: World, more: dict[str, Any]
) -> None:
    id = write(facts)["id"]
    failure = facts.failure("memory-update", id=id, **more)
    assert failure.code == -32602
    assert "current_content" in failure.text


@requirement("catalog/memory-update/versions", "catalog/server/versioning")
def test_every_change_of_content_keeps_the_earlier_version(facts: World) -> None:
    id = write(facts, "one", title="t")["id"]
    for content in ("two", "three"):
        facts.clock.turn()
        facts.call("memory-update", id=id, current_content=content)
    facts.call("memory-update", id=id, importance=5)
    told = json.loads(read(facts, f"memory://{id}/history"))["versions"]
    assert [(each["version"], each["current_content"]) for each in told] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]


@requirement("catalog/memory-delete/soft", "catalog/memory-delete/text")
def test_a_deleted_memory_is_hidden_and_kept(facts: World) -> None:
    id = write(facts)["id"]
    assert facts.told("memory-delete", id=id) == f"Memory {id} has been soft-deleted."
    assert found(facts) == []
    assert kept(facts, id).deleted_at is not None


@requirement("catalog/memory-delete/again", "catalog/errors/not-found", "catalog/errors/data")
def test_an_unknown_or_deleted_id_is_error_404_that_names_it(facts: World) -> None:
    deleted, other = write(facts)["id"], write(facts)["id"]
    facts.told("memory-delete", id=deleted)
    for id in (deleted, UNKNOWN, id_of(UNKNOWN) or ""):
        for tool, more in (
            ("memory-delete", {"id": id}),
            ("memory-update", {"id": id, "title": "x"}),
            ("memory-link", {"source_id": id, "target_id": other}),
            ("memory-link", {"source_id": other, "target_id": id}),
        ):
            failure = facts.failure(tool, **more)
            assert failure.code == 404
            assert failure.structured == {"id": id}
            assert id in failure.text


@requirement("catalog/memory-link/links", "catalog/memory-link/default", "catalog/memory-link/text")
def test_two_memories_are_linked_as_related_unless_it_is_said(facts: World) -> None:
    one, two = write(facts, "one")["id"], write(facts, "two")["id"]
    ends = {"source_id": one, "target_id": two}
    assert facts.told("memory-link", **ends) == "Memories linked successfully as 'related'."
    assert facts.told("memory-link", **ends, relation_type="depends on") == (
        "Memories linked successfully as 'depends on'."
    )


@requirement("catalog/memory-link/both-ways", "catalog/memory-link/free-text")
def test_related_leads_both_ways_and_any_other_one_way(facts: World) -> None:
    one, two = write(facts, "one", title="One")["id"], write(facts, "two")["id"]
    facts.told("memory-link", source_id=one, target_id=two)
    facts.told("memory-link", source_id=two, target_id=one, relation_type='needs; "x"')
    assert links(facts, one) == [
        ("from", 'needs; "x"', two),
        ("from", "related", two),
        ("to", "related", two),
    ]
    assert ("to", 'needs; "x"', one) in links(facts, two)


def links(facts: World, id: str) -> list[tuple[str, str, str]]:
    told = json.loads(read(facts, f"memory://{id}"))["links"]
    return sorted((each["direction"], each["relation_type"], each["id"]) for each in told)


@requirement("catalog/memory-link/idempotent")
def test_linking_again_has_no_further_effect(facts: World) -> None:
    one, two = write(facts, "one")["id"], write(facts, "two")["id"]
    facts.told("memory-link", source_id=one, target_id=two, relation_type="needs")
    before = facts.contents()
    facts.told("memory-link", source_id=one, target_id=two, relation_type="needs")
    assert facts.contents() == before


@requirement("catalog/memory-link/unknown", "catalog/memory-link/self")
def test_a_link_needs_two_memories_that_are_there(facts: World) -> None:
    one = write(facts)["id"]
    assert facts.failure("memory-link", source_id=one, target_id=UNKNOWN).code == 404
    itself = facts.failure("memory-link", source_id=one, target_id=one)
    assert itself.code == -32602
    assert itself.structured == {"id": one}
    assert links(facts, one) == []


@requirement("catalog/memory-batch-write/order", "catalog/memory-batch-write/alias")
@pytest.mark.parametrize(
    "tool", ["memory-batch-write", "memory-bulk-write", "memory_bulk_write", "memory_batch_write"]
)
def test_a_batch_answers_with_its_memories_in_order(facts: World, tool: str) -> None:
    known = write(facts, "old")["id"]
    items = [said(current_content="a"), said(current_content="b", id=known), said(title="c")]
    told = facts.told(tool, items=items)
    assert [each["current_content"] for each in told] == ["a", "b", "x"]
    assert told[1]["id"] == known
    assert sorted(found(facts)) == ["a", "b", "x"]


@requirement("catalog/memory-batch-write/shared")
def test_items_take_what_they_lack_from_the_first_that_has_it(facts: World) -> None:
    items = [
        {"current_content": "a", "memory_type": "risk"},
        {"current_content": "b", "organization": "acme"},
        {"current_content": "c", "scope_type": "user", "memory_type": "fact"},
        {"current_content": "d", "organization": "zoo", "scope_type": "organization"},
    ]
    told = facts.told("memory-batch-write", items=items)
    assert [(e["organization"], e["scope_type"], e["memory_type"]) for e in told] == [
        ("acme", "user", "risk"),
        ("acme", "user", "risk"),
        ("acme", "user", "fact"),
        ("zoo", "organization", "risk"),
    ]
    failure = facts.failure("memory-batch-write", items=[{"current_content": "a"}])
    assert failure.structured == {"argument": "items[0].organization", "index": 0}


def test_a_batch_of_too_many_items_is_refused_and_told_how_many_may_be(facts: World) -> None:
    before = facts.contents()
    items = [said(current_content=f"a {number}") for number in range(1001)]
    failure = facts.failure("memory-batch-write", items=items)
    assert (failure.code, failure.structured) == (-32602, {"argument": "items"})
    assert "at most 1,000 items, got 1,001" in failure.text
    assert facts.contents() == before


@requirement("catalog/memory-batch-write/all-or-nothing", "catalog/memory-batch-write/index")
def test_a_batch_with_one_bad_item_stores_nothing_and_names_its_place(facts: World) -> None:
    locked = write(facts)["id"]
    facts.call("memory-update", id=locked, status="locked")
    before = facts.contents()
    bad: list[tuple[dict[str, Any], int, dict[str, Any]]] = [
        (said(id=locked), -32001, {"index": 1, "id": locked}),
        (
            said(importance=11),
            -32602,
            {"index": 1, "argument": "items[1].importance"},
        ),
        (said(scope_type="repository"), -32602, {"index": 1, "argument": "items[1].repository"}),
        (said(current_content=""), -32602, {"index": 1, "argument": "items[1].current_content"}),
    ]
    for item, code, data in bad:
        failure = facts.failure("memory-batch-write", items=[said(), item, said()])
        assert (failure.code, failure.structured) == (code, data)
        assert "items[1]" in failure.text
        assert {name: count[1:] for name, count in facts.contents().items()} == {
            name: count[1:] for name, count in before.items()
        }
    assert facts.failure("memory-batch-write", items=[]).code == -32602
    foreign = facts.by(organization="acme").failure(
        "memory-batch-write", items=[said(), said(organization="zoo")]
    )
    assert (foreign.code, (foreign.structured or {})["index"]) == (-32003, 1)
    assert found(facts) == ["Ana likes tea"]


@requirement("catalog/errors/locked", "common/locked-for-all", "policy/locked")
def test_a_locked_memory_refuses_every_tool_with_its_code(facts: World) -> None:
    id, other = write(facts, "one")["id"], write(facts, "two")["id"]
    assert facts.call("memory-update", id=id, status="locked")["status"] == "locked"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory-write", said(id=id)),
        ("memory-update", {"id": id, "title": "x"}),
        ("memory-update", {"id": id, "title": "x", "status": "active"}),
        ("memory-delete", {"id": id}),
        ("memory-link", {"source_id": id, "target_id": other}),
        ("memory-link", {"source_id": other, "target_id": id}),
        ("memory-batch-write", {"items": [said(id=id)]}),
    ]
    for tool, arguments in calls:
        failure = facts.failure(tool, **arguments)
        assert failure.code == -32001, tool
        assert (failure.structured or {})["id"] == id
    assert sorted(found(facts)) == ["one", "two"]


@requirement("policy/lock-catalog-open")
def test_the_status_locks_and_unlocks_in_an_open_store_and_not_in_a_governed_one(
    opener: Opener,
) -> None:
    facts = facts_of(opener())
    id = write(facts)["id"]
    assert facts.call("memory-update", id=id, status="locked")["status"] == "locked"
    assert facts.call("memory-update", id=id, status="active")["status"] == "active"
    facts.by(role=Role.MANAGER).call("memory-update", id=id, status="locked")
    assert facts.failure("memory-update", id=id, status="active").code == -32003
    governed = facts_of(opener(policy=Policy.GOVERNED, name="governed"))
    other = write(governed)["id"]
    for status in ("locked", "verified"):
        assert governed.failure("memory-update", id=other, status=status).code == -32003
    assert kept(governed, other).status is Status.DRAFT


@requirement("catalog/errors/forbidden", "catalog/errors/data", "policy/write")
def test_what_the_caller_may_not_is_forbidden_and_audited(opener: Opener) -> None:
    facts = facts_of(opener(policy=Policy.GOVERNED))
    id = write(facts)["id"]
    viewer = facts.by(role=Role.VIEWER)
    calls: list[tuple[World, str, dict[str, Any]]] = [
        (viewer, "memory-write", said()),
        (viewer, "memory-update", {"id": id, "title": "x"}),
        (viewer, "memory-delete", {"id": id}),
        (facts, "memory-write", said(memory_type="business_rule")),
        (facts, "memory-update", {"id": id, "memory_type": "system_constraint"}),
        (facts, "memory-write", said(scope_type="system")),
        (facts.by(organization="zoo"), "memory-write", said()),
        (facts.by(repositories=frozenset({"a"})), "memory-write", said(repository="b")),
    ]
    for world, tool, arguments in calls:
        before = refusals(facts)
        failure = world.failure(tool, **arguments)
        assert failure.code == -32003, (tool, arguments)
        assert set(failure.structured or {}) == {"act", "reason"}
        assert refusals(facts) == before + 1
    assert found(facts) == ["Ana likes tea"]


def refusals(world: World) -> int:
    store = world.store
    entries = (
        each
        for name in {*store.organizations(), "acme", "zoo", SYSTEM_ORGANIZATION}
        for each in store.find(Entry, everything(name))
    )
    return sum(1 for each in entries if getattr(each, "outcome", "") not in ("done", ""))


@requirement("policy/system-scope-catalog-only")
def test_system_scope_is_written_in_an_open_store_and_seen_by_every_organization(
    facts: World,
) -> None:
    told = write(facts, "UTC everywhere", scope_type="system")
    assert (told["scope_type"], told["organization"]) == ("system", "acme")
    assert found(facts.by(organization="zoo"), "UTC") == ["UTC everywhere"]
    facts.clock.turn()
    changed = facts.call("memory-update", id=told["id"], importance=10)
    assert (changed["importance"], changed["organization"]) == (10, "acme")
    assert found(facts, "UTC", organization="acme") == ["UTC everywhere"]
    assert json.loads(read(facts, "memory://index"))[0]["organization"] == "acme"


def test_a_memory_of_repository_scope_needs_its_repository(facts: World) -> None:
    failure = facts.failure("memory-write", **said(scope_type="repository"))
    assert (failure.code, failure.structured) == (-32602, {"argument": "repository"})
    told = write(facts, scope_type="repository", repository="api")
    assert (told["repository"], told["scope_type"]) == ("api", "repository")


def test_an_id_of_another_organization_is_not_written_under(facts: World) -> None:
    id = write(facts, "acme's")["id"]
    failure = facts.failure("memory-write", **said(id=id, organization="zoo"))
    assert (failure.code, failure.structured) == (-32602, {"id": id})
    assert found(facts) == ["acme's"]


@requirement("catalog/errors/invalid", "catalog/errors/data", "common/bad-input/named")
@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        ("memory-write", {"organization": "a"}, "scope_type"),
        ("memory-write", said(memory_type="semantic"), "memory_type"),
        ("memory-write", said(status="unverified"), "status"),
        ("memory-write", said(id="7"), "id"),
        ("memory-write", said(metadata=[]), "metadata"),
        ("memory-search", {"filters": {"status": "new"}}, "filters.status"),
        ("memory-search", {"filters": {"stat": "draft"}}, "filters.stat"),
        ("memory-delete", {}, "id"),
    ],
)
def test_a_wrong_argument_is_named_in_text_and_data(
    facts: World, tool: str, arguments: dict[str, Any], argument: str
) -> None:
    failure = facts.failure(tool, **arguments)
    assert failure.code == -32602
    assert failure.structured == {"argument": argument}
    assert f"`{argument}`" in failure.text


def test_an_argument_by_another_contracts_name_is_refused_under_that_name(facts: World) -> None:
    told = facts.failure(
        "memory-write",
        organization="acme",
        scope_type="organization",
        memory_type="fact",
        content="Refunds within 30 days.",
    )
    assert "`current_content`: is required; `content` is not an argument of this tool." in told.text
