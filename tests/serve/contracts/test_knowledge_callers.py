"""Who may do what through `knowledge`: the one policy, met at the contract's door."""

from typing import Any

import pytest

from minutebook.config import load, settings_with
from minutebook.record.policy import Policy
from minutebook.record.records import (
    DEFAULT_ORGANIZATION,
    SYSTEM_ORGANIZATION,
    Entry,
    Role,
    ScopeLevel,
)
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, everything

WRITERS = (Role.AGENT, Role.HUMAN, Role.MANAGER, Role.ARCHITECT, Role.ADMIN)


def outcomes(world: World, subject: str, organization: str = "default") -> list[tuple[str, str]]:
    return [(e.act, e.outcome) for e in world.entries(subject, organization)]


@requirement("policy/read")
@pytest.mark.parametrize("role", Role)
def test_everyone_reads_and_searches(world: World, role: Role) -> None:
    id = world.remember("Ana likes tea")
    ana = world.entity("Ana")
    reader = world.by(role=role, name="reader")
    assert reader.call("get_memory", id=id)["content"] == "Ana likes tea"
    for tool in ("search", "search_text", "recall"):
        assert reader.ids(tool, query="tea") == [id]
    assert reader.ids("list_memories") == reader.ids("get_valid") == [id]
    assert reader.call("get_related", entity_id=ana)["entity_count"] == 0
    assert reader.call("get_status")["memories_count"] == 1


@requirement("policy/write")
def test_a_viewer_may_only_read_and_each_attempt_is_entered(world: World) -> None:
    id = world.remember("Ana likes tea")
    ana, ben = world.entity("Ana"), world.entity("Ben")
    viewer = world.by(role=Role.VIEWER, name="eve")
    counts = world.contents()["default"][1:]
    ends = {"from_entity": ana, "to_entity": ben, "relation_type": "knows"}
    for tool, arguments in (
        ("store_memory", {"content": "a"}),
        ("update_memory", {"id": id, "content": "a"}),
        ("update_memory", {"id": id, "metadata": {"a": 1}}),
        ("delete_memory", {"id": id}),
        ("invalidate", {"id": id}),
        ("create_entity", {"name": "Cleo"}),
        ("create_entity", {"name": "Ana"}),
        ("create_relation", ends),
        ("reset_all_memory", {"confirm": True}),
    ):
        text = viewer.refused(tool, **arguments)
        assert text.startswith("Not allowed to ")
        assert "viewer" in text
    assert world.contents()["default"][1:] == counts
    entries = [
        e
        for e in world.app.memories.history(world.caller, world.memory(id)).entries
        if e.actor == "eve"
    ]
    assert [e.act for e in entries] == ["update", "update", "delete", "invalidate"]
    assert {(e.outcome, e.role) for e in entries} == {("Forbidden", Role.VIEWER)}
    assert world.app.trail.verify("default") is None


@requirement("policy/delete-own")
@pytest.mark.parametrize("role", WRITERS)
def test_an_agent_deletes_only_what_it_wrote(world: World, role: Role) -> None:
    theirs = world.by(name="other").remember("Ana likes tea")
    me = world.by(role=role)
    mine = me.remember("Ana likes milk")
    assert me.call("delete_memory", id=mine) == {"deleted": True}
    if role is Role.AGENT:
        assert "other" in me.refused("delete_memory", id=theirs)
        assert outcomes(world, theirs)[-1] == ("delete", "Forbidden")
        assert world.ids("list_memories") == [theirs]
    else:
        assert me.call("delete_memory", id=theirs) == {"deleted": True}


@requirement("policy/locked", "common/locked-for-all", "common/one-policy")
@pytest.mark.parametrize("role", WRITERS)
def test_a_locked_memory_cannot_be_changed_ended_or_deleted(world: World, role: Role) -> None:
    me = world.by(role=role)
    id, other = me.remember("Ana likes tea"), me.remember("Ana likes milk")
    world.lock(id, Role.MANAGER)
    before, counts = world.memory(id), world.contents()["default"][1:]
    for tool, arguments in (
        ("update_memory", {"content": "a"}),
        ("update_memory", {"metadata": {}}),
        ("invalidate", {}),
        ("invalidate", {"superseded_by": other}),
        ("delete_memory", {}),
    ):
        text = me.refused(tool, id=id, **arguments)
        assert text.startswith(f"Memory is locked: {id}")
        assert "manager" in text
    assert world.memory(id) == before
    assert world.contents()["default"][1:] == counts
    assert [outcome for _, outcome in outcomes(world, id)] == ["done", *["Locked"] * 5]
    assert me.ids("recall", query="tea")[0] == id


def test_a_locked_memory_may_take_the_place_of_another(world: World) -> None:
    old, new = world.remember("a"), world.remember("b")
    world.lock(new)
    assert world.call("invalidate", id=old, superseded_by=new) == {"invalidated": True}


@requirement("policy/system-scope")
def test_a_governed_store_keeps_system_wide_memories_from_everyone(opener: Opener) -> None:
    world = opener(policy=Policy.GOVERNED)
    id = opener(name="one").by(organization=SYSTEM_ORGANIZATION).remember("no secrets in logs")
    assert world.memory(id, SYSTEM_ORGANIZATION).scope is ScopeLevel.SYSTEM
    for role in WRITERS:
        me = world.by(role=role, organization="acme")
        assert me.ids("recall", query="secrets") == [id]
        assert "system" in me.refused("update_memory", id=id, content="a")
        assert "system" in me.refused("invalidate", id=id)
        assert "system" in me.refused("delete_memory", id=id)
        system = world.by(role=role, organization=SYSTEM_ORGANIZATION).by(writes_system=False)
        assert "system" in system.refused("store_memory", content="a")


def test_system_wide_memories_are_seen_from_every_organization(world: World) -> None:
    id = world.by(organization=SYSTEM_ORGANIZATION).remember("no secrets in logs")
    for organization in ("acme", "other", None):
        assert world.by(organization=organization).ids("recall", query="secrets") == [id]


@requirement("policy/open-by-default", "policy/role-of-caller")
def test_a_personal_store_is_open_and_its_caller_an_agent() -> None:
    settings = load({}, {})
    assert settings.policy is None
    assert settings.caller().role is Role.AGENT
    asked = load({"role": "manager", "agent": "ana"}, {}).caller()
    assert (asked.role, asked.name) == (Role.MANAGER, "ana")


@pytest.mark.parametrize(
    ("held", "scope"),
    [
        ({}, (ScopeLevel.ORGANIZATION, DEFAULT_ORGANIZATION, None, None)),
        ({"organization": "acme"}, (ScopeLevel.ORGANIZATION, "acme", None, None)),
        (
            {"organization": "acme", "repository": "r"},
            (ScopeLevel.REPOSITORY, "acme", "r", None),
        ),
        (
            {"organization": "acme", "repository": "r", "user": "u"},
            (ScopeLevel.USER, "acme", "r", "u"),
        ),
        ({"user": "u"}, (ScopeLevel.USER, DEFAULT_ORGANIZATION, None, "u")),
    ],
)
def test_what_is_written_belongs_where_the_caller_is_held(
    opener: Opener, held: dict[str, Any], scope: tuple[Any, ...]
) -> None:
    world = opener(**held)
    told = world.memory(world.remember("a"), scope[1])
    assert (told.scope, told.organization, told.repository, told.user) == scope


def test_a_caller_held_to_a_user_writes_for_no_other(world: World) -> None:
    ana = world.by(user="ana")
    for tool, arguments in (("store_memory", {"content": "a"}), ("create_entity", {"name": "a"})):
        text = ana.refused(tool, user_id="ben", **arguments)
        assert "'ana'" in text
        assert ana.call(tool, user_id="ana", **arguments)
        assert ana.call(tool, **arguments)
    assert {each["user_id"] for each in world.call("list_memories")["memories"]} == {"ana"}


def test_every_refusal_is_entered_and_nothing_else_of_it_is_kept(world: World) -> None:
    viewer = world.by(role=Role.VIEWER, request="r9")
    viewer.refused("store_memory", content="secret")
    (entry,) = world.store.find(Entry, everything("default"))
    assert isinstance(entry, Entry)
    assert (entry.act, entry.outcome, entry.request) == ("created", "Forbidden", "r9")
    assert (entry.before, entry.after) == ("", "")
    assert not any(world.contents()["default"][1:])


def test_settings_and_their_caller_agree() -> None:
    caller = settings_with(organization="acme", repository="r", user="u").caller()
    assert caller.repositories == frozenset({"r"})
    assert settings_with().caller().repositories is None


def test_a_caller_of_one_organization_cannot_change_what_concerns_everyone(world: World) -> None:
    system = world.by(organization=SYSTEM_ORGANIZATION)
    id = system.remember("Everyone rests on Sunday.")
    held = world.by(organization="acme", role=Role.HUMAN)
    assert held.call("get_memory", id=id)["content"] == "Everyone rests on Sunday."
    for tool, arguments in (
        ("update_memory", {"content": "Nobody rests."}),
        ("invalidate", {}),
        ("delete_memory", {}),
    ):
        assert "system scope" in held.refused(tool, id=id, **arguments)


def test_a_caller_held_to_several_repositories_must_name_one_to_write(world: World) -> None:
    held = world.by(organization="acme", repositories=frozenset({"one", "two"}))
    assert "several repositories" in held.refused("store_memory", content="whose?")
    assert "several repositories" in held.refused("create_entity", name="whose?")


def test_an_agents_reset_leaves_the_entities_of_others(world: World) -> None:
    ours, theirs = world.entity("ours"), world.by(name="other").entity("theirs")
    more = world.by(name="other").entity("more")
    world.relate(ours, theirs)
    world.by(name="other").relate(theirs, more)
    told = world.call("reset_all_memory", confirm=True)
    assert (told["deleted"]["entities"], told["deleted"]["relations"]) == (1, 1)
    assert told["kept_others"] == 2
    assert [each["id"] for each in world.call("get_related", entity_id=theirs)["entities"]] == [
        more
    ]
