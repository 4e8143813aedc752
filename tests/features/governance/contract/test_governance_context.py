"""The context of each call: checked first, held to the start-up identity, entered when refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from minutebook.record.ids import uuid_named
from minutebook.record.records import SYSTEM_ORGANIZATION, Role
from tests.features.governance.contract.governed import (
    ACME,
    CONTRACT,
    ONE,
    OTHER,
    TWO,
    UNKNOWN,
    Client,
    told,
)
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World

TOOLS: dict[str, dict[str, Any]] = {
    "memory-write": {"content": "tea is at four", "type": "fact"},
    "memory-search": {"query": "tea"},
    "memory.read": {"memory_id": UNKNOWN},
    "memory.lock": {"memory_id": UNKNOWN},
    "memory.deprecate": {"memory_id": UNKNOWN, "reason": "old"},
}
FIELDS = ("agent_id", "organization_id", "repository_id", "intent", "request_id")
UUIDS = ("organization_id", "repository_id")
NO_CONTEXTS: list[Any] = ["", "x", 5, True, [], [{}]]
BAD_UUIDS = [
    "acme",
    "550e8400e29b41d4a716446655440000",
    f"{ACME} ",
    f"{{{ACME}}}",
    "0" * 36,
    5,
    [],
    True,
]
BAD_TEXTS = ["", " ", "\t\n", 5, 1.5, True, [], {}, ["a"], "a" * 1025, "ä" * 513]


def bad_contexts() -> Iterator[tuple[Any, str]]:
    """Yield malformed contexts, or changes that make one malformed, and the field at fault."""
    yield {}, "context."
    for each in NO_CONTEXTS:
        yield each, "context"
    for name in FIELDS:
        values = (
            BAD_UUIDS
            if name in UUIDS
            else ["x", "READ", "", 5, []]
            if name == "intent"
            else BAD_TEXTS
        )
        for value in (None, *values):
            yield {name: value}, f"context.{name}"
    yield {"tenant": "x"}, "context.tenant"


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


@requirement(
    "governance/context/malformed",
    "governance/errors/INVALID_CONTEXT",
    "governance/memory-search/repository",
)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_context_that_is_not_whole_is_refused_and_its_field_named(
    client: Client, tool: str
) -> None:
    failures = []
    before = client.world.kept()
    for change, where in bad_contexts():
        given = change
        if isinstance(change, dict) and change:
            given = client.context(tool) | change
        try:
            error = client.refused(tool, **TOOLS[tool] | {"context": given})
            assert error["code"] == "INVALID_CONTEXT"
            assert f"`{where}" in error["message"]
            assert client.world.kept() == before
        except AssertionError as failure:
            failures.append(f"{change!r:.80}: {failure}")
    assert not failures, "\n\n".join([f"{len(failures)} contexts:", *failures])


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("tool", TOOLS)
def test_each_field_of_the_context_is_needed(client: Client, tool: str, name: str) -> None:
    given = client.context(tool)
    del given[name]
    error = client.refused(tool, **TOOLS[tool], context=given)
    assert (error["code"], f"`context.{name}` is required" in error["message"]) == (
        "INVALID_CONTEXT",
        True,
    )


@requirement("governance/context/required", "acceptance/missing-context")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_call_without_context_is_refused_and_entered_for_the_start_up_identity(
    client: Client, tool: str
) -> None:
    contract = client.world.speaking(CONTRACT)
    for arguments in (TOOLS[tool], {}, {"context": None}):
        failure = contract.failure(tool, **arguments)
        error = told(failure.text, failure.code, failure.structured)
        assert error["code"] == "INVALID_CONTEXT"
        assert "`context` is required" in error["message"]
        assert error["request_id"] is None
        (entry,) = client.world.trail()[-1:]
        assert (entry.actor, entry.outcome) == ("agent", "InvalidInput")
    assert len(client.world.trail()) == 3
    assert client.world.kept() == {}


@requirement("governance/context/intent-fits")
@pytest.mark.parametrize("intent", ["read", "write", "admin"])
@pytest.mark.parametrize("tool", TOOLS)
def test_an_intent_that_does_not_fit_the_tool_is_refused(
    client: Client, tool: str, intent: str
) -> None:
    fitting = CONTRACT.tools[tool].promise["intents"]
    context = client.context(tool, intent=intent)
    if intent in fitting:
        failure = (
            client.of(Role.ADMIN)
            .world.speaking(CONTRACT)
            .contract.call(
                client.world.app, client.world.caller, tool, {**TOOLS[tool], "context": context}
            )
        )
        assert "INVALID_CONTEXT" not in failure.text
        return
    error = client.refused(tool, **TOOLS[tool], context=context)
    assert error["code"] == "INVALID_CONTEXT"
    assert "`context.intent`" in error["message"]
    assert " or ".join(fitting) in error["message"]


@requirement("governance/context/first")
@pytest.mark.parametrize("tool", TOOLS)
def test_the_context_is_checked_before_the_other_arguments_and_any_look_up(
    client: Client, tool: str
) -> None:
    theirs = client.write("tea is at four")
    for arguments in ({"nonsense": 1}, {"memory_id": 5}, {"memory_id": theirs}, {"limit": 99}):
        context = client.context(tool, repository_id="no uuid")
        error = client.refused(tool, context=context, **arguments)
        assert error["code"] == "INVALID_CONTEXT"
        assert "`context.repository_id`" in error["message"]
    # Not even an organization that the context names hears of it.
    assert {entry.act for entry in client.entries()} == {"created"}


@requirement("governance/scope/violation", "governance/scope/validated")
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "change",
    [{"repository_id": TWO}, {"organization_id": OTHER}],
    ids=["repository", "organization"],
)
def test_whoever_is_held_to_a_scope_may_name_no_other(
    client: Client, tool: str, change: dict[str, str]
) -> None:
    held = client.by(organization=ACME, repositories=frozenset({ONE}))
    error = held.refused(tool, **TOOLS[tool], context=held.context(tool, **change))
    assert error["code"] == "SCOPE_VIOLATION"
    (entry,) = held.entries(organization=ACME)
    assert (entry.actor, entry.request) == ("claude", error["request_id"])
    assert entry.outcome == "ScopeViolation"
    assert held.entries(organization=OTHER) == []
    assert held.world.kept() == {}


@requirement("governance/scope/unnamed")
def test_whoever_is_held_to_nothing_may_name_any_scope(client: Client) -> None:
    for organization in (ACME, OTHER):
        for repository in (ONE, TWO):
            here = client.at(organization=organization, repository=repository)
            id = here.write(f"{organization} {repository}")
            kept = here.memory(id)
            assert (kept.organization, kept.repository) == (organization, repository)


@requirement("governance/scope/agent_id")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_named_start_up_identity_speaks_under_no_other_name(client: Client, tool: str) -> None:
    ana = client.by(name="ana")
    error = ana.refused(tool, **TOOLS[tool])
    assert error["code"] == "SCOPE_VIOLATION"
    assert "'claude'" in error["message"]
    assert "'ana'" in error["message"]
    (entry,) = ana.world.trail()
    assert (entry.actor, entry.outcome) == ("ana", "ScopeViolation")
    assert ana.at(agent="ana").found("tea") == []


def test_the_default_name_names_nobody(client: Client) -> None:
    assert client.world.caller.name == "agent"
    id = client.at(agent="gemini").write("tea is at four")
    assert client.memory(id).author == "gemini"


@requirement("governance/scope/role")
def test_no_argument_raises_the_role(client: Client) -> None:
    id = client.write("tea is at four")
    for agent in ("admin", "manager", "human"):
        posing = client.at(agent=agent)
        assert posing.refused("memory.lock", memory_id=id)["code"] == "WRITE_NOT_ALLOWED"
        context = posing.context("memory.lock", role="manager")
        error = posing.refused("memory.lock", memory_id=id, context=context)
        assert error["code"] == "INVALID_CONTEXT"
    assert client.memory(id).locked_by is None


def test_a_uuid_may_be_written_in_capitals(client: Client) -> None:
    client.write("tea is at four")
    shouting = client.at(organization=ACME.upper(), repository=ONE.upper())
    assert shouting.found("tea") == ["tea is at four"]


def test_a_scope_that_the_start_up_names_by_a_word_has_the_uuid_of_the_word(client: Client) -> None:
    named = client.by(organization="acme", repositories=frozenset({"web"}))
    context = {"organization": str(uuid_named("acme")), "repository": str(uuid_named("web"))}
    id = named.at(**context).write("tea is at four")
    assert named.memory(id, "acme").repository == "web"
    assert named.at(**context).found("tea") == ["tea is at four"]
    assert named.refused("memory-search", query="tea")["code"] == "SCOPE_VIOLATION"


def test_an_organization_that_is_in_the_store_is_meant_by_the_uuid_of_its_name(
    client: Client,
) -> None:
    client.world.remember("tea is at four")
    here = client.at(organization=str(uuid_named("default")))
    assert here.found("tea") == ["tea is at four"]


def test_the_organization_of_system_wide_memories_is_nobodys(client: Client) -> None:
    client.world.by(organization=SYSTEM_ORGANIZATION).remember("no secrets in logs")
    posing = client.at(organization=str(uuid_named(SYSTEM_ORGANIZATION)))
    id = posing.write("tea is at four")
    assert posing.memory(id).organization == str(uuid_named(SYSTEM_ORGANIZATION))
    held = client.by(organization=SYSTEM_ORGANIZATION)
    error = held.at(organization=str(uuid_named(SYSTEM_ORGANIZATION))).refused(
        "memory-search", query="tea"
    )
    assert error["code"] == "SCOPE_VIOLATION"


@pytest.mark.parametrize("claim", [5, "", " ", "a" * 1025, None])
def test_what_is_no_request_id_is_not_given_back(client: Client, claim: Any) -> None:
    context = client.context("memory-search", request_id=claim)
    error = client.refused("memory-search", query="tea", context=context)
    assert error["request_id"] is None


def test_an_agent_whose_context_is_wrong_elsewhere_is_still_entered_with_its_request(
    opener: Opener,
) -> None:
    client = Client(opener())
    context = client.context("memory.read", organization_id="acme", request_id="r77")
    error = client.refused("memory.read", memory_id=UNKNOWN, context=context)
    assert error["request_id"] == "r77"
    (entry,) = client.world.trail()
    assert (entry.actor, entry.request, entry.act) == ("claude", "r77", "read")
