"""What those may do who came with a token: arguments narrow what it grants, and never widen it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.record.caller import ANYBODY, Caller
from minutebook.record.errors import (
    EmbeddingNotReady,
    Forbidden,
    InBatch,
    LedgerBroken,
    LedgerError,
    MinutebookError,
    ModelUnavailable,
    ScopeViolation,
    StoreError,
)
from minutebook.record.ids import uuid_named
from minutebook.record.reason import Reason
from minutebook.record.records import Memory, Role
from minutebook.record.rights.grants import Grant
from minutebook.serve.contracts.registry import CONTRACTS
from tests.features.catalog.contract.cataloged import facts_of
from tests.features.governance.contract import governed
from tests.features.ledger.contract import ledgered
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, everything

pytestmark = pytest.mark.on_server

OWNER = Caller(name="root", role=Role.HUMAN, writes_system=True)
GRANT = Grant(
    name="ci", role=Role.AGENT, organization="acme", repositories=("api", "web"), user="ana"
)
RULE = {"organization": "acme", "memory_type": "business_rule", "current_content": "No tea"}


def bearer(world: World, **changes: Any) -> World:
    """The world as it is met by who shows a token."""
    issued = world.app.tokens.create(OWNER, replace(GRANT, **changes))
    return replace(world, caller=world.app.tokens.caller_of(issued.secret))


def outside(world: World) -> list[str]:
    """Memories that no bearer of the grant may see: of others in each of the three ways; their ids."""
    return [
        world.by(organization="zoo").remember("Tea of another organization"),
        world.by(organization="acme", repositories=frozenset({"app"})).remember("Tea of the app"),
        world.by(organization="acme", user="bob").remember("Tea of Bob", user_id="bob"),
    ]


def governing(world: World, **changes: Any) -> governed.Client:
    """A client of the governance contract whose context fits the grant, but for the changes."""
    fitting = {
        "agent": "ci",
        "organization": str(uuid_named("acme")),
        "repository": str(uuid_named("api")),
    }
    return governed.Client(world, **(fitting | changes))


def test_knowledge_shows_and_changes_nothing_beyond_the_token(world: World) -> None:
    others, kept_before = outside(world), world.kept()
    ci = bearer(world, repositories=("api",))
    own = ci.remember("Tea of the api")
    kept = world.memory(own, "acme")
    assert (kept.organization, kept.repository, kept.author) == ("acme", "api", "ci")
    for tool in ("search", "search_text", "recall"):
        assert ci.ids(tool, query="tea") == [own]
    assert ci.ids("list_memories") == ci.ids("get_valid") == [own]
    for id in others:
        assert "not found" in ci.refused("get_memory", id=id).lower()
        for tool, more in (
            ("update_memory", {"content": "mine"}),
            ("delete_memory", {}),
            ("invalidate", {}),
        ):
            ci.contract.call(ci.app, ci.caller, tool, {"id": id, **more})
    assert kept_before.items() <= world.kept().items()


def test_knowledge_keeps_a_token_to_its_user(world: World) -> None:
    ci = bearer(world, repositories=("api",))
    assert world.memory(ci.remember("Tea", user_id="ana"), "acme").user == "ana"
    held = "held to the user 'ana'"
    assert held in ci.refused("store_memory", content="Tea", user_id="bob")
    assert held in ci.refused("create_entity", name="Bob", user_id="bob")


def test_a_token_of_several_repositories_writes_into_one_that_is_named(world: World) -> None:
    several = bearer(world)
    assert "several repositories" in several.refused("store_memory", content="Tea")
    said = {"organization": "acme", "memory_type": "fact", "current_content": "Tea"}
    facts = facts_of(several)
    facts.call("memory-write", repository="web", scope_type="repository", **said)
    (written,) = world.store.find(Memory, everything("acme"))
    assert isinstance(written, Memory)
    assert written.repository == "web"


@pytest.mark.parametrize(
    "said",
    [
        {"organization": "zoo"},
        {"repository": "app", "scope_type": "repository"},
        {"scope_type": "system"},
    ],
)
def test_catalog_takes_no_scope_beyond_the_token(world: World, said: dict[str, str]) -> None:
    facts = facts_of(bearer(world, repositories=("api",)))
    plain = {
        "organization": "acme",
        "scope_type": "organization",
        "repository": "api",
        "memory_type": "fact",
        "current_content": "Tea",
    }
    facts.refused("memory-write", **(plain | said))
    facts.refused("memory-batch-write", items=[plain, plain | said])
    assert world.kept() == {}


def test_catalog_finds_nothing_beyond_the_token_whatever_is_named(world: World) -> None:
    outside(world)
    facts = facts_of(bearer(world))
    for filters in ({}, {"organization": "zoo"}, {"repository": "app"}):
        assert facts.told("memory-search", filters=filters) == []
        assert facts.told("memory-search", query="tea", filters=filters) == []


def test_an_agent_with_a_token_writes_no_rules_and_sets_no_lock_by_any_contract(
    world: World,
) -> None:
    open_before = facts_of(world.by(organization="acme"))
    open_before.call("memory-write", scope_type="organization", **RULE)
    ci = bearer(world, repositories=("api",))
    facts_of(ci).refused("memory-write", scope_type="organization", **RULE)
    ci.refused("store_memory", content="No tea", memory_type="business_rule")
    id = ci.remember("Tea")
    facts_of(ci).refused("memory-update", id=world.memory(id, "acme").uuid, status="locked")
    assert world.memory(id, "acme").locked_by is None


@requirement("governance/scope/validated", "governance/scope/agent_id")
@pytest.mark.parametrize(
    "changes",
    [
        {"agent": "root"},
        {"agent": ANYBODY},
        {"organization": str(uuid_named("zoo"))},
        {"repository": str(uuid_named("app"))},
    ],
)
@pytest.mark.parametrize("role", [Role.AGENT, Role.ADMIN])
def test_governance_refuses_a_context_that_contradicts_the_token(
    world: World, changes: dict[str, str], role: Role
) -> None:
    ci = bearer(world, role=role)
    assert governing(ci).write("Tea")
    refused = governing(ci, **changes).refused("memory-write", content="Tea", type="fact")
    assert refused["code"] == "SCOPE_VIOLATION"
    entry = world.trail("acme")[-1]
    assert (entry.actor, entry.token, entry.outcome) == ("ci", ci.caller.token, "ScopeViolation")


@requirement("governance/scope/role")
def test_governance_takes_the_role_from_the_token_and_never_from_the_context(world: World) -> None:
    client = governing(bearer(world))
    id = client.write("Tea")
    assert client.refused("memory.lock", memory_id=id)["code"] == "WRITE_NOT_ALLOWED"
    rule = client.refused("memory-write", content="No tea", type="business_rule")
    assert rule["code"] == "WRITE_NOT_ALLOWED"
    steward = governing(bearer(world, role=Role.MANAGER))
    assert steward.call("memory.lock", memory_id=id)["status"] == "locked"


def test_governance_shows_nothing_of_another_repository(world: World) -> None:
    web = governing(bearer(world), repository=str(uuid_named("web")))
    id = web.write("Tea of the web")
    api = governing(bearer(world, repositories=("api",)))
    assert api.found("tea") == []
    assert api.refused("memory.read", memory_id=id)["code"] == "MEMORY_NOT_FOUND"


def test_the_ledger_keeps_a_token_to_its_organization_and_role(world: World) -> None:
    zoo = ledgered.Client(world.by(organization="zoo", name="ana"))
    secret = zoo.record("store")
    ci = ledgered.Client(bearer(world, repositories=None, user=None))
    own = ci.record("store", title="Use files")
    assert [r["id"] for r in ci.call("search_decisions", query="use")["results"]] == [own]
    ci.refused("supersede_decision", **superseding("store", secret))
    viewer = ledgered.Client(bearer(world, repositories=None, user=None, role=Role.VIEWER))
    viewer.refused("record_decision", title="T", target="wire", rationale=ledgered.WHY)
    viewer.refused("supersede_decision", **superseding("store", own))
    proposal = ci.call("propose_decision", title="T", target="wire", rationale=ledgered.WHY)
    assert ci.refused("accept_proposal", proposal_id=proposal["proposal_id"])[0] == 403


def superseding(target: str, old: str) -> dict[str, Any]:
    return {
        "title": "Mine",
        "target": target,
        "rationale": ledgered.WHY,
        "old_decision_ids": [old],
    }


def test_a_journal_keeps_a_token_to_its_scopes(world: World) -> None:
    sessions, search = world.app.sessions, world.app.journal_search
    scopes = (
        {"organization": "zoo"},
        {"organization": "acme", "repositories": frozenset({"app"})},
        {"organization": "acme", "user": "bob"},
    )
    for scope in scopes:
        sessions.add(world.by(**scope).caller, "s", "Tea?", "", "Tea.")
    ci = bearer(world, repositories=("api",)).caller
    own = sessions.add(ci, "s", "Tea?", "", "Tea.")
    assert (own.organization, own.repository, own.user) == ("acme", "api", "ana")
    assert sessions.page(ci, "s", 10, 0).turns == [own]
    assert [found.record for found in search.turns(ci, "tea", 10)] == [own]
    assert [each.turn_count for each in sessions.all(ci)] == [1]
    world.app.summaries.summarize(ci, "s")
    assert {s.repository for s in world.app.summaries.page(ci, 10, 0).summaries} == {"api"}
    viewer = bearer(world, role=Role.VIEWER, repositories=("api",)).caller
    with pytest.raises(Forbidden):
        sessions.add(viewer, "s", "Tea?", "", "Tea.")


@pytest.mark.needs("code")
@requirement("policy/folders")
def test_a_bearer_has_only_folders_indexed_that_are_named_for_their_organization(
    world: World, opener: Opener, tmp_path: Path
) -> None:
    ours, theirs, api = (tmp_path / name for name in ("ours", "theirs", "api"))
    for folder in (ours, theirs, api):
        folder.mkdir()
        (folder / "a.py").write_text("def brew(): ...\n")
    everyone = {"repositories": None, "user": None}
    assert "index_roots" in bearer(world, **everyone).refused("index_project", path=str(ours))
    plain = opener(name="plain", index_roots=(ours,))
    assert "none is named" in bearer(plain, **everyone).refused("index_project", path=str(ours))
    home = bearer(plain, organization="default", **everyone)
    assert home.call("index_project", path=str(ours))
    table = {"acme": (ours,), "zoo": {"api": (api,), "web": (theirs,)}}
    fenced = opener(name="fenced", index_roots=table)
    acme = bearer(fenced, **everyone)
    assert acme.call("index_project", path=str(ours))
    for folder in (theirs, api, tmp_path):
        assert "outside" in acme.refused("index_project", path=str(folder))
    zoo = bearer(fenced, organization="zoo", repositories=("api",), user=None)
    assert zoo.call("index_project", path=str(api))
    for folder in (ours, theirs):
        assert "outside" in zoo.refused("index_project", path=str(folder))


@pytest.mark.needs("code")
def test_a_bearer_is_not_told_what_is_there_outside_the_roots(
    opener: Opener, tmp_path: Path
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside, outside / "locked"):
        folder.mkdir()
    (outside / "file").write_text("x")
    (outside / "root").symlink_to(root)
    for name, target in (("out", outside), ("gone", outside / "none"), ("loop", root / "loop")):
        (root / name).symlink_to(target)
    world = opener(name="fenced", index_roots={"acme": (root,)})
    ci = bearer(world, repositories=("api",), user=None)
    asked = [
        *(str(outside / name) for name in ("", "file", "file/x", "locked", "none", "none/x")),
        *(str(root / name) for name in ("out", "out/file", "out/none", "gone", "gone/x")),
        *(str(root / name) for name in ("../outside", "../none", "../outside/file")),
        str(outside / "root"),
        "/root/.ssh",
        "/proc/self",
        "/" + "x" * 5000,
    ]
    said = {ci.refused("index_project", path=path).replace(path, "X") for path in asked}
    assert len(said) == 1
    assert "is outside the allowed roots" in said.pop()
    for path in ("~", "~root/x", "~nobody-has-this-name/x", "code", "a\0b"):
        assert "not an absolute path" in ci.refused("index_project", path=path)
    # A way through a folder outside leads inside all the same, whether that folder is there or not.
    for name in ("outside", "none"):
        assert ci.call("index_project", path=str(tmp_path / name / ".." / "root"))
    (root / "file").write_text("x")
    assert "does not exist" in ci.refused("index_project", path=str(root / "none"))
    assert "not a folder" in ci.refused("index_project", path=str(root / "file"))


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize(
    "error",
    [
        StoreError("/srv/secret/minutebook.db: the disk is full"),
        LedgerError("/srv/secret/ledgers/acme cannot be read", "mend /srv/secret"),
        LedgerBroken(
            Reason("/srv/secret/ledgers/acme: it has no commits any more"),
            Reason("look"),
            ("decision_1",),
        ),
        EmbeddingNotReady("error", Reason("/srv/secret/model.onnx is damaged")),
        ModelUnavailable("/srv/secret/model.onnx is damaged", "mend /srv/secret"),
        InBatch(0, StoreError("/srv/secret/minutebook.db: the disk is full")),
    ],
)
def test_who_came_by_a_token_hears_nothing_of_where_the_data_are(
    world: World, contract: str, error: MinutebookError
) -> None:
    promise = CONTRACTS[contract]()
    arguments: dict[str, Any] = {"items": [{}]}
    told = promise.worded(error, bearer(world).caller, arguments)
    assert "the log of the server tells why" in str(told)
    assert "/srv/secret" in str(promise.worded(error, world.caller, arguments))
    assert "/srv/secret" not in str(told)


def test_who_came_by_a_token_hears_which_decisions_break_a_ledger(world: World) -> None:
    error = LedgerBroken(
        Reason("d1: its title was changed"), Reason("see `git log` for who did it"), ("d1",)
    )
    promise = CONTRACTS["ledger"]()
    assert "its title was changed" in promise.worded(error, bearer(world).caller, {}).text


@pytest.mark.parametrize("role", [Role.AGENT, Role.HUMAN, Role.ADMIN])
def test_what_is_the_whole_organizations_is_read_only_to_a_token_of_some_repositories(
    world: World, role: Role
) -> None:
    wide = world.by(organization="acme", role=Role.HUMAN)
    shared, decided = wide.remember("Tea at five"), ledgered.Client(wide).record("store")
    held = bearer(world, role=role, repositories=("web",), user=None)
    kept = world.memory(shared, "acme")
    assert held.ids("list_memories") == [shared]
    for tool, more in (("update_memory", {"content": "mine"}), ("invalidate", {})):
        assert "organization" in held.refused(tool, id=shared, **more)
    assert "organization" in held.refused("delete_memory", id=shared)
    assert held.told("reset_all_memory", confirm=True)["deleted"]["memories"] == 0
    facts = facts_of(held)
    fact = RULE | {"memory_type": "fact", "scope_type": "organization"}
    facts.refused("memory-write", **fact)
    facts.call("memory-write", repository="web", **fact)
    assert (
        ledgered.Client(held).refused("supersede_decision", **superseding("store", decided))[0]
        == 403
    )
    assert world.memory(shared, "acme") == kept
    assert held.memory(held.remember("Tea of the web"), "acme").repository == "web"


def test_a_token_of_some_repositories_writes_no_summary_that_all_read(world: World) -> None:
    wide = world.by(organization="acme", role=Role.HUMAN).caller
    app, held = world.app, bearer(world, role=Role.HUMAN, repositories=("web",), user=None).caller
    for caller, name in ((wide, "wide"), (wide, "both"), (held, "both")):
        app.sessions.add(caller, name, "Mend the boiler", "", "Done.")
    with pytest.raises(ScopeViolation):
        app.summaries.summarize(held, "wide")
    assert [each.repository for each in app.summaries.summarize(held, "both")] == ["web"]
    assert app.summaries.summarize_all(held).done == []
    assert len(app.summaries.summarize_all(wide).done) == 2
    assert (app.summaries.delete_all(held).deleted, app.summaries.delete_all(held).kept) == (1, 2)
