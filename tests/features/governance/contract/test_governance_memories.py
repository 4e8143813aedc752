"""Write, read, lock and deprecate through `governance`."""

import logging
import threading
from typing import Any

import pytest

from minutebook.record.policy import Policy
from minutebook.record.records import SYSTEM_ORGANIZATION, MemoryType, Role, ScopeLevel, Status
from minutebook.serve.contracts.knowledge import knowledge
from tests.features.governance.contract.governed import (
    ACME,
    CONTRACT,
    ONE,
    OTHER,
    TWO,
    UNKNOWN,
    Client,
    short,
)
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, loading

pytestmark = pytest.mark.on_server

PROTECTED = ("business_rule", "system_constraint")
STEWARDS = (Role.MANAGER, Role.ARCHITECT, Role.ADMIN)
PEOPLE = (Role.HUMAN, *STEWARDS)
TYPES = CONTRACT.tools["memory-write"].promise["inputSchema"]["properties"]["type"]["enum"]
OPEN_TO_AGENTS = [each for each in TYPES if each not in PROTECTED]


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


@requirement(
    "governance/memory-write/stores",
    "governance/memory-write/response",
    "governance/memory-write/audit",
    "governance/published/ids",
)
@pytest.mark.parametrize("type", OPEN_TO_AGENTS)
def test_what_an_agent_writes_is_kept_unverified_as_version_one(client: Client, type: str) -> None:
    answer = client.call("memory-write", content="tea is at four", type=type)
    assert set(answer) == {"memory_id", "status"}
    assert answer["status"] == "unverified"
    id = answer["memory_id"]
    memory = client.memory(id)
    assert (memory.content, memory.type, memory.status) == ("tea is at four", type, "unverified")
    assert (memory.scope, memory.repository, memory.user) == (ScopeLevel.REPOSITORY, ONE, None)
    assert (memory.author, memory.version) == ("claude", 1)
    (version,) = client.world.app.memories.history(client.world.caller, memory).versions
    assert (version.number, version.content, version.changed_by) == (1, "tea is at four", "claude")
    assert client.acts(id) == [("created", "done")]


@requirement("governance/memory-write/callers", "governance/memory-search/callers")
@pytest.mark.parametrize("role", [Role.AGENT, *PEOPLE])
def test_agents_and_people_write_and_search(client: Client, role: Role) -> None:
    teller = client.of(role)
    teller.write("tea is at four")
    assert teller.found("tea") == ["tea is at four"]


def test_a_viewer_reads_and_searches_and_writes_nothing(client: Client) -> None:
    id = client.write("tea is at four")
    viewer, before = client.of(Role.VIEWER), client.world.kept()
    assert viewer.found("tea") == ["tea is at four"]
    assert viewer.call("memory.read", memory_id=id)["content"] == "tea is at four"
    for tool, arguments in (
        ("memory-write", {"content": "a", "type": "fact"}),
        ("memory-write", {"content": "a", "type": "fact", "memory_id": id}),
        ("memory.lock", {"memory_id": id}),
        ("memory.deprecate", {"memory_id": id, "reason": "a"}),
    ):
        assert viewer.refused(tool, **arguments)["code"] == "WRITE_NOT_ALLOWED"
    assert client.world.kept() == before


@requirement(
    "governance/memory-write/required",
    "governance/memory-search/required",
    "governance/memory.read/required",
    "governance/memory.deprecate/required",
)
@pytest.mark.parametrize("tool", CONTRACT.tools)
def test_a_required_argument_that_is_missing_is_named(client: Client, tool: str) -> None:
    whole = {
        "content": "a",
        "type": "fact",
        "query": "a",
        "memory_id": UNKNOWN,
        "reason": "a",
    }
    required = CONTRACT.tools[tool].promise["inputSchema"]["required"][1:]
    for name in required:
        given = {each: whole[each] for each in required if each != name}
        error = client.refused(tool, **given)
        assert (error["code"], error["number"]) == ("INVALID_ARGUMENT", -32602)
        assert error["message"] == f"Argument `{name}` is required."


@requirement(
    "governance/memory-write/protected",
    "governance/errors/WRITE_NOT_ALLOWED",
    "policy/protected-types",
)
@pytest.mark.parametrize("rules", Policy)
@pytest.mark.parametrize("type", PROTECTED)
def test_an_agent_writes_no_protected_type_whatever_the_policy(
    opener: Opener, type: str, rules: Policy
) -> None:
    client = Client(opener(policy=rules))
    id = client.write("tea is at four")
    before = client.world.kept()
    for edited in (None, id):
        error = client.refused("memory-write", content="a", type=type, memory_id=edited)
        assert error["code"] == "WRITE_NOT_ALLOWED"
        assert type in error["message"]
        assert client.entries()[-1].outcome == "Forbidden"
        assert client.entries()[-1].request == error["request_id"]
    assert client.world.kept() == before


@pytest.mark.parametrize("role", PEOPLE)
@pytest.mark.parametrize("type", PROTECTED)
def test_a_person_writes_protected_types_and_no_agent_changes_them(
    client: Client, type: str, role: Role
) -> None:
    id = client.of(role).write("tests pass first", type=type)
    before = client.world.kept()
    for tool, arguments in (
        ("memory-write", {"content": "a", "type": "fact"}),
        ("memory-write", {"content": "a", "type": type}),
        ("memory.deprecate", {"reason": "a"}),
    ):
        error = client.refused(tool, memory_id=id, **arguments)
        assert error["code"] == "WRITE_NOT_ALLOWED"
    assert client.world.kept() == before
    assert client.found("tests") == ["tests pass first"]


@requirement("governance/memory-write/edits", "acceptance/update-makes-version")
def test_writing_with_an_id_makes_a_new_version_that_is_unverified_again(client: Client) -> None:
    id = client.write("tea is at four")
    client.world.app.status.verify(
        client.of(Role.HUMAN).by(organization=ACME).world.caller, short(id)
    )
    assert client.memory(id).status is Status.VERIFIED
    answer = client.call(
        "memory-write", memory_id=id, content="tea is at five", type="decision_log"
    )
    assert answer == {"memory_id": id, "status": "unverified"}
    memory = client.memory(id)
    assert (memory.content, memory.version) == ("tea is at five", 2)
    assert memory.type is MemoryType.DECISION_LOG
    whole = client.call("memory.read", memory_id=id)
    assert [each["content"] for each in whole["versions"]] == ["tea is at five", "tea is at four"]
    assert [each["version"] for each in whole["versions"]] == [2, 1]
    assert client.found("tea") == ["tea is at five"]


def test_an_edit_does_not_bring_back_what_was_deprecated(client: Client) -> None:
    id = client.write("tea is at four")
    client.call("memory.deprecate", memory_id=id, reason="nobody came")
    answer = client.call("memory-write", memory_id=id, content="tea is at five", type="fact")
    assert answer["status"] == "deprecated"
    assert client.found("tea") == []


@requirement("governance/errors/MEMORY_NOT_FOUND")
@pytest.mark.parametrize("role", [Role.AGENT, Role.ADMIN])
@pytest.mark.parametrize("given", [UNKNOWN, "0" * 20, "nonsense", "a" * 1024, "../\ud800"])
def test_an_id_that_names_no_memory_is_not_found(client: Client, given: str, role: Role) -> None:
    teller = client.of(role)
    for tool, arguments in (
        ("memory-write", {"content": "a", "type": "fact"}),
        ("memory.read", {}),
        ("memory.deprecate", {"reason": "a"}),
    ):
        error = teller.refused(tool, memory_id=given, **arguments)
        assert (error["code"], error["number"]) == ("MEMORY_NOT_FOUND", -32004)
        assert teller.entries()[-1].outcome == "NotFound"
        assert teller.entries()[-1].request == error["request_id"]
    assert client.world.kept() == {}


@requirement(
    "governance/memory.read/not-leaked",
    "governance/scope/no-cross-repository",
    "governance/memory-search/other-repository",
    "governance/errors/SCOPE_VIOLATION",
)
@pytest.mark.parametrize("elsewhere", [{"repository": TWO}, {"organization": OTHER}])
@pytest.mark.parametrize("role", [Role.AGENT, Role.ADMIN])
def test_what_belongs_elsewhere_is_not_there(
    client: Client, elsewhere: dict[str, str], role: Role
) -> None:
    id = client.at(**elsewhere).write("tea is at four")
    here, before = client.of(role), client.world.kept()
    assert here.found("tea is at four") == []
    unknown: list[dict[str, Any]] = []
    for asked in (id, UNKNOWN):
        for tool, arguments in (
            ("memory.read", {}),
            ("memory-write", {"content": "a", "type": "fact"}),
            ("memory.deprecate", {"reason": "a"}),
            *((("memory.lock", {}),) if role is Role.ADMIN else ()),
        ):
            error = here.refused(tool, memory_id=asked, **arguments)
            assert error["code"] == "MEMORY_NOT_FOUND"
            unknown.append(
                {**error, "message": error["message"].replace(asked, "…"), "request_id": 0}
            )
    half = len(unknown) // 2
    assert unknown[:half] == unknown[half:]
    assert client.world.kept() == before
    held = here.by(organization=ACME, repositories=frozenset({ONE}))
    error = held.at(**elsewhere).refused("memory.read", memory_id=id)
    assert error["code"] == "SCOPE_VIOLATION"


@requirement("governance/memory-write/own-repository", "governance/scope/system-read-only")
def test_an_agent_writes_into_its_repository_only(client: Client) -> None:
    rule = client.of(Role.HUMAN).write("tea is at four", scope="organization")
    system = client.world.by(organization=SYSTEM_ORGANIZATION).remember("no secrets in logs")
    before = client.world.kept()
    for scope in ("organization", "system"):
        error = client.refused("memory-write", content="a", type="fact", scope=scope)
        assert error["code"] == "SCOPE_VIOLATION"
        assert scope in error["message"]
    for id in (rule, system):
        for tool, arguments in (
            ("memory-write", {"content": "a", "type": "fact"}),
            ("memory.deprecate", {"reason": "a"}),
        ):
            error = client.refused(tool, memory_id=id, **arguments)
            assert error["code"] == "SCOPE_VIOLATION"
    assert client.world.kept() == before
    assert client.found("tea")[0] == "tea is at four"
    assert client.found("secrets")[0] == "no secrets in logs"


@requirement("policy/system-scope", "governance/scope/system-read-only")
@pytest.mark.parametrize("rules", Policy)
@pytest.mark.parametrize("role", PEOPLE)
def test_nobody_writes_system_scope_here(opener: Opener, rules: Policy, role: Role) -> None:
    client = Client(opener(policy=rules))
    steward = client.world.by(organization=SYSTEM_ORGANIZATION, role=Role.ADMIN)
    system = steward.remember("no secrets in logs")
    person, before = client.of(role), client.world.kept()
    error = person.refused("memory-write", content="a", type="fact", scope="system")
    assert error["code"] == "SCOPE_VIOLATION"
    for tool, arguments in (
        ("memory-write", {"content": "a", "type": "fact"}),
        ("memory.deprecate", {"reason": "a"}),
        *((("memory.lock", {}),) if role in STEWARDS else ()),
    ):
        assert person.refused(tool, memory_id=system, **arguments)["code"] == "SCOPE_VIOLATION"
    assert client.world.kept() == before
    assert person.found("secrets") == ["no secrets in logs"]
    whole = person.call("memory.read", memory_id=system)
    assert (whole["scope_origin"], whole["content"]) == ("system", "no secrets in logs")


def test_a_person_writes_for_the_whole_organization(client: Client) -> None:
    id = client.of(Role.HUMAN).write("tea is at four", type="business_rule", scope="organization")
    memory = client.memory(id)
    assert (memory.scope, memory.repository) == (ScopeLevel.ORGANIZATION, None)
    assert client.at(repository=TWO).found("tea") == ["tea is at four"]
    assert client.at(organization=OTHER).found("tea") == []


def test_an_edit_moves_no_memory(client: Client) -> None:
    id = client.write("tea is at four")
    for scope in ("repository", "organization", "system"):
        error = client.of(Role.ADMIN).refused(
            "memory-write", memory_id=id, content="a", type="fact", scope=scope
        )
        assert "`scope`" in error["message"]
    assert client.memory(id).content == "tea is at four"


@requirement("governance/memory.read/reads", "governance/memory.read/response")
def test_a_memory_is_read_whole_with_its_ten_latest_versions(client: Client) -> None:
    id = client.write("tea is at 1")
    for hour in range(2, 13):
        client.call("memory-write", memory_id=id, content=f"tea is at {hour}", type="fact")
    whole = client.call("memory.read", memory_id=id)
    assert whole == {
        "memory_id": id,
        "short_id": client.memory(id).id,
        "content": "tea is at 12",
        "status": "unverified",
        "type": "fact",
        "scope_origin": "repository",
        "importance": 1.0,
        "author": "claude",
        "updated_at": client.memory(id).updated_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "version": 12,
        "versions": whole["versions"],
    }
    assert [each["version"] for each in whole["versions"]] == list(range(12, 2, -1))
    assert set(whole["versions"][0]) == {
        "version",
        "content",
        "changed_by",
        "changed_at",
        "request_id",
    }
    assert whole["versions"][0]["changed_by"] == "claude"
    assert len({each["request_id"] for each in whole["versions"]}) == 10


@requirement(
    "governance/memory.lock/locks",
    "governance/memory.lock/callers",
    "governance/memory.lock/response",
    "policy/lock-unlock",
)
@pytest.mark.parametrize("role", STEWARDS)
def test_a_steward_locks_a_memory(client: Client, role: Role) -> None:
    id = client.write("tea is at four")
    answer = client.of(role).call("memory.lock", memory_id=id)
    memory = client.memory(id)
    assert answer == {
        "memory_id": id,
        "status": "locked",
        "locked_at": memory.updated_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    assert (memory.status, memory.locked_by) == (Status.LOCKED, role)
    whole = client.call("memory.read", memory_id=id)
    assert (whole["status"], whole["locked_by"]) == ("locked", role)
    assert client.found("tea") == ["tea is at four"]


@requirement("governance/memory.lock/not-ai", "governance/memory.lock/refused")
@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT, Role.HUMAN])
def test_nobody_else_locks(client: Client, role: Role) -> None:
    id = client.write("tea is at four")
    for asked in (id, UNKNOWN, client.at(repository=TWO).write("elsewhere")):
        error = client.of(role).refused("memory.lock", memory_id=asked)
        assert (error["code"], error["number"]) == ("WRITE_NOT_ALLOWED", -32003)
        entry = client.entries()[-1]
        assert (entry.act, entry.outcome, entry.role) == ("lock", "Forbidden", role)
        assert entry.request == error["request_id"]
    assert client.memory(id).locked_by is None


@requirement(
    "governance/memory-write/not-locked",
    "governance/memory.lock/immutable",
    "governance/errors/MEMORY_LOCKED",
    "policy/locked",
)
@pytest.mark.parametrize("role", [Role.AGENT, *PEOPLE])
def test_a_locked_memory_is_neither_edited_nor_deprecated(client: Client, role: Role) -> None:
    id = client.write("tea is at four")
    client.of(Role.MANAGER).call("memory.lock", memory_id=id)
    before = client.world.kept()
    for tool, arguments in (
        ("memory-write", {"content": "a", "type": "fact"}),
        ("memory-write", {"content": "tea is at four", "type": "fact"}),
        ("memory.deprecate", {"reason": "a"}),
    ):
        error = client.of(role).refused(tool, memory_id=id, **arguments)
        assert (error["code"], error["number"]) == ("MEMORY_LOCKED", -32001)
        assert id in error["message"]
        assert client.acts(id)[-1][1] == "Locked"
    assert client.world.kept() == before


def test_a_memory_that_is_locked_is_not_locked_again_by_another(client: Client) -> None:
    id = client.write("tea is at four")
    client.of(Role.ARCHITECT).call("memory.lock", memory_id=id)
    error = client.of(Role.MANAGER).refused("memory.lock", memory_id=id)
    assert error["code"] == "MEMORY_LOCKED"
    assert client.memory(id).locked_by is Role.ARCHITECT


@requirement("governance/security/unlock")
def test_an_unlock_is_an_audited_act_of_a_steward_and_no_tool(client: Client) -> None:
    id = client.write("tea is at four")
    steward = client.of(Role.MANAGER)
    steward.call("memory.lock", memory_id=id)
    assert not any("unlock" in name for name in CONTRACT.names)
    caller = steward.world.by(organization=ACME, request="u1").caller
    client.world.app.status.unlock(caller, short(id))
    assert client.entries(id)[-1].act == "unlock"
    assert client.entries(id)[-1].request == "u1"
    assert client.memory(id).locked_by is None
    client.call("memory-write", memory_id=id, content="tea is at five", type="fact")


@requirement("governance/memory.deprecate/marks", "governance/memory.deprecate/response")
@pytest.mark.parametrize("intent", ["write", "admin"])
def test_a_deprecated_memory_keeps_the_reason_and_is_not_found(client: Client, intent: str) -> None:
    id = client.write("tea is at four")
    context = client.context("memory.deprecate", intent=intent)
    answer = client.call("memory.deprecate", memory_id=id, reason="nobody came", context=context)
    assert answer == {"memory_id": id, "status": "deprecated"}
    memory = client.memory(id)
    assert (memory.status, memory.reason) == (Status.DEPRECATED, "nobody came")
    assert client.found("tea") == []
    whole = client.call("memory.read", memory_id=id)
    assert (whole["status"], whole["reason"]) == ("deprecated", "nobody came")


@requirement(
    "governance/errors/audited",
    "governance/security/tied",
    "governance/security/transparent",
    "governance/context/request_id",
)
def test_each_act_and_each_refusal_is_tied_to_agent_memory_and_request(client: Client) -> None:
    id = client.write("tea is at four")
    steward = client.of(Role.ADMIN)
    client.found("tea")
    client.call("memory.read", memory_id=id)
    client.call("memory-write", memory_id=id, content="tea is at five", type="fact")
    client.refused("memory.lock", memory_id=id)
    steward.call("memory.lock", memory_id=id)
    client.refused("memory-write", memory_id=id, content="a", type="fact")
    client.refused("memory.deprecate", memory_id=id, reason="a")
    client.refused("memory.deprecate", memory_id=id)
    client.refused("memory-search", query="tea", limit=11)
    told = [(e.act, e.outcome, e.subject, e.request) for e in client.entries()]
    subject = short(id)
    assert told == [
        ("created", "done", subject, "r1"),
        ("read", "done", subject, "r2"),
        ("read", "done", subject, "r3"),
        ("update", "done", subject, "r4"),
        ("lock", "Forbidden", subject, "r5"),
        ("lock", "done", subject, "r6"),
        ("update", "Locked", subject, "r7"),
        ("deprecate", "Locked", subject, "r8"),
        ("deprecate", "InvalidInput", subject, "r9"),
        ("read", "InvalidInput", "*", "r10"),
    ]
    assert {entry.actor for entry in client.entries()} == {"claude"}
    assert all(entry.at is not None for entry in client.entries())
    assert client.world.app.trail.verify(ACME) is None


@requirement("governance/security/explicit", "governance/security/no-inference")
def test_what_is_searched_and_read_changes_nothing_and_what_is_written_stays_as_written(
    client: Client,
) -> None:
    text = "  Remember:\tI like tea.\r\n\n**Always** ask twice…  "
    id = client.write(text)
    before = client.world.kept()
    client.found("please remember that I like milk")
    assert client.call("memory.read", memory_id=id)["content"] == text
    client.refused("memory.read", memory_id=UNKNOWN)
    assert client.world.kept() == before
    assert client.memory(id).content == text


@requirement("governance/security/log-lines")
def test_no_log_line_holds_what_a_memory_says(
    opener: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client(opener())
    with caplog.at_level(logging.DEBUG):
        id = client.write("the falcon flies at dawn")
        client.call("memory-write", memory_id=id, content="the falcon sleeps", type="fact")
        client.found("falcon")
        client.refused("memory-write", memory_id=id, content="falcon", type="business_rule")
        client.call("memory.deprecate", memory_id=id, reason="the falcon left")
    assert "falcon" not in caplog.text


@requirement("governance/published/one-store", "common/one-store")
def test_what_another_contract_wrote_is_found_and_what_was_locked_here_is_locked_there(
    client: Client,
) -> None:
    elsewhere = client.world.speaking(knowledge()).by(
        organization=ACME, repositories=frozenset({ONE})
    )
    id = elsewhere.remember("tea is at four")
    assert client.found("tea") == ["tea is at four"]
    uuid = client.call("memory-search", query="tea")["memories"][0]["memory_id"]
    assert short(uuid) == id
    client.of(Role.ADMIN).call("memory.lock", memory_id=uuid)
    assert "locked" in elsewhere.refused("update_memory", id=uuid, content="a")
    mine = client.write("milk is at five")
    assert elsewhere.call("get_memory", id=mine)["content"] == "milk is at five"


@requirement("governance/published/safe-spelling", "common/safe-spelling")
def test_tools_are_called_by_their_safe_spelling_too(client: Client) -> None:
    world = client.world.speaking(CONTRACT)
    told = world.call(
        "memory_write", context=client.context("memory-write"), content="tea", type="fact"
    )
    whole = world.call(
        "memory_read", context=client.context("memory.read"), memory_id=told["memory_id"]
    )
    assert whole["content"] == "tea"


def test_a_model_that_loads_is_waited_for_and_nothing_is_kept_meanwhile(opener: Opener) -> None:
    release = threading.Event()
    client = Client(opener(loading(release)))
    client.world.app.embedding.start()
    error = client.refused("memory-write", content="tea", type="fact")
    release.set()
    assert (error["code"], error["number"]) == ("SERVER_ERROR", -32000)
    assert "try again" in error["message"]
    assert client.world.kept() == {}


def test_texts_that_are_no_utf_8_and_signs_of_all_sorts_are_kept_and_entered(
    client: Client,
) -> None:
    for odd in (
        "\ud800 half",
        "nul\0",
        "\u2615 \U0001f375",
        "\u202eright to left",
        "'; DROP TABLE memories",
    ):
        context = client.context("memory-write", agent_id=odd, request_id=odd)
        told = client.call("memory-write", content=odd, type="fact", context=context)
        id = told["memory_id"]
        assert client.call("memory.read", memory_id=id)["content"] == odd
        entry = client.entries(id)[0]
        assert (entry.actor, entry.request) == (odd, odd)
        assert odd in client.found(odd, limit=10)
    assert client.world.app.trail.verify(ACME) is None


def test_what_another_took_the_place_of_is_not_deprecated_and_the_attempt_is_entered(
    client: Client,
) -> None:
    old, new = client.write("tea is at four"), client.write("tea is at five")
    caller = client.by(organization=ACME, name="claude").world.caller
    client.world.app.memories.invalidate(caller, short(old), None, short(new))
    before = client.world.kept()
    error = client.refused("memory.deprecate", memory_id=old, reason="old")
    assert error["code"] == "INVALID_ARGUMENT"
    assert old in error["message"]
    assert client.acts(old)[-1] == ("deprecate", "Conflict")
    assert client.world.kept() == before
