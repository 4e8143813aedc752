"""The table of who may do what: one row an act, one letter a role."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record import policy
from minutebook.record.caller import ANYBODY, Caller, with_call
from minutebook.record.errors import Forbidden, Locked, Refused, ScopeViolation
from minutebook.record.policy import Policy, Scope
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
)
from tests.serve.contracts.requirements import requirement
from tests.store.samples import turn

NOW = datetime(2026, 1, 6, 12, tzinfo=UTC)
OPEN, GOVERNED = Policy.OPEN, Policy.GOVERNED
COLUMNS = (Role.VIEWER, Role.AGENT, Role.HUMAN, Role.MANAGER, Role.ARCHITECT, Role.ADMIN)
STEWARDS = frozenset(COLUMNS[3:])

FACT, RULE, CONSTRAINT = MemoryType.FACT, MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT
REPOSITORY, SHARED = ScopeLevel.REPOSITORY, ScopeLevel.ORGANIZATION
SYSTEM = ScopeLevel.SYSTEM


def caller(role: Role) -> Caller:
    return Caller(name="me", role=role)


def memory(
    type: MemoryType = FACT,
    scope: ScopeLevel = REPOSITORY,
    author: str = "me",
    locked_by: Role | None = None,
) -> Memory:
    return Memory(
        organization="acme",
        id="m",
        content="c",
        scope=scope,
        type=type,
        status=Status.ACTIVE if locked_by is None else Status.LOCKED,
        author=author,
        event_time=NOW,
        ingestion_time=NOW,
        updated_at=NOW,
        valid_from=NOW,
        locked_by=locked_by,
    )


Attempt = Callable[[Caller], None]


def write(rules: Policy, type: MemoryType = FACT, scope: ScopeLevel = REPOSITORY) -> Attempt:
    return lambda who: policy.check_may_write(who, rules, type, scope)


def change(rules: Policy, told: Memory) -> Attempt:
    return lambda who: policy.check_may_change(who, rules, told)


def delete(rules: Policy, told: Memory) -> Attempt:
    return lambda who: policy.check_may_delete(who, rules, told)


def write_to(organization: str) -> Attempt:
    return lambda who: policy.check_may_write_to(who, "relate", Scope(organization))


def unlock(told: Memory) -> Attempt:
    return lambda who: policy.check_may_unlock(who, told)


def by_system_door(attempt: Attempt) -> Attempt:
    return lambda who: attempt(replace(who, writes_system=True))


def by_open_door(rules: Policy, attempt: Attempt) -> Attempt:
    return lambda who: attempt(policy.with_field_writes(who, rules))


def by_governance(attempt: Attempt) -> Attempt:
    return lambda who: attempt(replace(who, governed=True))


def stand(before: Status, after: Status) -> Attempt:
    return lambda who: policy.check_may_set_status(who, before, after)


def table(*rows: tuple[str, str, Attempt]) -> list[object]:
    """Return a case for each act: the roles that may do it, and how it is tried."""
    return [
        pytest.param(
            [role for role, letter in zip(COLUMNS, letters.split(), strict=True) if letter == "y"],
            attempt,
            id=act,
        )
        for act, letters, attempt in rows
    ]


def passes(role: Role, attempt: Attempt) -> bool:
    try:
        attempt(caller(role))
    except Refused:
        return False
    return True


def check(may: list[Role], attempt: Attempt) -> None:
    assert [role for role in COLUMNS if passes(role, attempt)] == may


@requirement("policy/write")
@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        # viewer, agent, human, manager, architect, admin
        ("write a fact, open", "n y y y y y", write(OPEN)),
        ("write a fact, governed", "n y y y y y", write(GOVERNED)),
        ("change a fact, governed", "n y y y y y", change(GOVERNED, memory())),
        ("change another's fact", "n y y y y y", change(GOVERNED, memory(author="other"))),
        ("write to a scope", "n y y y y y", write_to("acme")),
        ("summarise sessions", "n y y y y y", lambda who: policy.check_may_act(who, "summarize")),
    ),
)
def test_everyone_but_a_viewer_writes(may: list[Role], attempt: Attempt) -> None:
    check(may, attempt)


@requirement("policy/protected-types")
@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        ("write a rule, governed", "n n y y y y", write(GOVERNED, RULE)),
        ("write a constraint, governed", "n n y y y y", write(GOVERNED, CONSTRAINT)),
        ("write a rule, open", "n y y y y y", write(OPEN, RULE)),
        ("write a constraint, open", "n y y y y y", write(OPEN, CONSTRAINT)),
        ("change a rule, governed", "n n y y y y", change(GOVERNED, memory(RULE))),
        ("delete a rule, governed", "n n y y y y", delete(GOVERNED, memory(RULE))),
        ("change a rule, open", "n y y y y y", change(OPEN, memory(RULE))),
        ("write a rule, governance", "n n y y y y", by_governance(write(OPEN, RULE))),
        ("write a constraint, governance", "n n y y y y", by_governance(write(OPEN, CONSTRAINT))),
        ("change a rule, governance", "n n y y y y", by_governance(change(OPEN, memory(RULE)))),
        ("write a fact, governance", "n y y y y y", by_governance(write(OPEN))),
        ("share a fact, governance", "n n y y y y", by_governance(write(OPEN, FACT, SHARED))),
        (
            "change a shared fact, governance",
            "n n y y y y",
            by_governance(change(GOVERNED, memory(scope=SHARED))),
        ),
        ("share a fact", "n y y y y y", write(GOVERNED, FACT, SHARED)),
    ),
)
def test_a_governed_store_keeps_rules_from_agents(may: list[Role], attempt: Attempt) -> None:
    check(may, attempt)


@requirement("policy/system-scope")
@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        ("write system-wide, open", "n n n n n n", write(OPEN, FACT, SYSTEM)),
        ("write system-wide, governed", "n n n n n n", write(GOVERNED, FACT, SYSTEM)),
        ("change it, open", "n n n n n n", change(OPEN, memory(scope=SYSTEM))),
        ("change it, governed", "n n n n n n", change(GOVERNED, memory(scope=SYSTEM))),
        ("delete it, governed", "n n n n n n", delete(GOVERNED, memory(scope=SYSTEM))),
        (
            "write it through a door that opens it",
            "n y y y y y",
            by_system_door(write(OPEN, FACT, SYSTEM)),
        ),
        (
            "write it through that door, governed",
            "n n n y y y",
            by_system_door(write(GOVERNED, FACT, SYSTEM)),
        ),
        (
            "write it through catalog, open",
            "n y y y y y",
            by_open_door(OPEN, write(OPEN, FACT, SYSTEM)),
        ),
        (
            "write it through catalog, governed",
            "n n n n n n",
            by_open_door(GOVERNED, write(GOVERNED, FACT, SYSTEM)),
        ),
        (
            "write it through governance, open",
            "n n n n n n",
            by_governance(write(OPEN, FACT, SYSTEM)),
        ),
        (
            "write to the system's scope",
            "n n n n n n",
            write_to(SYSTEM_ORGANIZATION),
        ),
        (
            "keep the system's turns",
            "n n n n n n",
            lambda who: policy.check_may_act(who, "summarize", SYSTEM_ORGANIZATION),
        ),
    ),
)
def test_system_scope_is_written_only_through_a_door_that_opens_it(
    may: list[Role], attempt: Attempt
) -> None:
    check(may, attempt)


@requirement("policy/locked")
@pytest.mark.parametrize("rules", Policy)
@pytest.mark.parametrize("act", [change, delete])
def test_nobody_changes_or_deletes_what_is_locked(
    rules: Policy, act: Callable[[Policy, Memory], Attempt]
) -> None:
    for role, locker in product(COLUMNS[1:], COLUMNS):
        with pytest.raises(Locked) as refusal:
            act(rules, memory(locked_by=locker))(caller(role))
        assert refusal.value.id == "m", (role, locker)
        assert str(locker) in refusal.value.reason, (role, locker)


@requirement("policy/lock-unlock")
@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        ("lock", "n n n y y y", policy.check_may_lock),
        ("unlock an agent's", "n n n y y y", unlock(memory(locked_by=Role.AGENT))),
        ("unlock a person's", "n n n y y y", unlock(memory(locked_by=Role.HUMAN))),
        ("unlock a manager's", "n n n y y y", unlock(memory(locked_by=Role.MANAGER))),
        ("unlock an architect's", "n n n y y y", unlock(memory(locked_by=Role.ARCHITECT))),
        ("unlock an admin's", "n n n y y y", unlock(memory(locked_by=Role.ADMIN))),
        ("lock by status", "n n n y y y", stand(Status.ACTIVE, Status.LOCKED)),
        (
            "lock by status through catalog, open",
            "n y y y y y",
            by_open_door(OPEN, stand(Status.ACTIVE, Status.LOCKED)),
        ),
        (
            "lock by status through catalog, governed",
            "n n n y y y",
            by_open_door(GOVERNED, stand(Status.ACTIVE, Status.LOCKED)),
        ),
        (
            "unlock an agent's through catalog, open",
            "n y y y y y",
            by_open_door(OPEN, unlock(memory(locked_by=Role.AGENT))),
        ),
        (
            "unlock a person's through catalog, open",
            "n n y y y y",
            by_open_door(OPEN, unlock(memory(locked_by=Role.HUMAN))),
        ),
        (
            "unlock a manager's through catalog, open",
            "n n n y y y",
            by_open_door(OPEN, unlock(memory(locked_by=Role.MANAGER))),
        ),
        (
            "unlock an agent's through catalog, governed",
            "n n n y y y",
            by_open_door(GOVERNED, unlock(memory(locked_by=Role.AGENT))),
        ),
    ),
)
def test_stewards_lock_and_unlock(may: list[Role], attempt: Attempt) -> None:
    check(may, attempt)


@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        ("verify", "n n y y y y", policy.check_may_verify),
        ("settle", "n n y y y y", lambda caller: policy.check_may_settle(caller, "apply")),
        ("verify by status", "n n y y y y", stand(Status.ACTIVE, Status.VERIFIED)),
        (
            "verify by status through catalog, open",
            "n y y y y y",
            by_open_door(OPEN, stand(Status.ACTIVE, Status.VERIFIED)),
        ),
        ("leave verified as it is", "y y y y y y", stand(Status.VERIFIED, Status.VERIFIED)),
        ("deprecate by status", "y y y y y y", stand(Status.ACTIVE, Status.DEPRECATED)),
    ),
)
def test_what_an_agent_says_is_not_verified(may: list[Role], attempt: Attempt) -> None:
    check(may, attempt)


def importing(rules: Policy, *, whole: bool) -> Attempt:
    return lambda who: policy.check_may_import(who, rules, whole=whole)


@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        # viewer, agent, human, manager, architect, admin
        ("export sessions", "n y y y y y", lambda who: policy.check_may_export(who, whole=False)),
        ("export all", "n y y y y y", lambda who: policy.check_may_export(who, whole=True)),
        ("import sessions", "n y y y y y", importing(Policy.OPEN, whole=False)),
        ("import sessions, governed", "n y y y y y", importing(Policy.GOVERNED, whole=False)),
        ("import all", "n n n n n n", importing(Policy.OPEN, whole=True)),
        (
            "import all at the terminal",
            "n n y y y y",
            by_system_door(importing(Policy.OPEN, whole=True)),
        ),
        (
            "import all at the terminal, governed",
            "n n n n n y",
            by_system_door(importing(Policy.GOVERNED, whole=True)),
        ),
    ),
)
def test_sessions_are_the_callers_own_to_move_and_a_whole_store_its_owners(
    may: list[Role], attempt: Attempt
) -> None:
    check(may, attempt)


@pytest.mark.parametrize(
    "held", [{"organization": "acme"}, {"repositories": frozenset({"r"})}, {"user": "ann"}]
)
def test_who_is_held_to_a_part_moves_no_whole_store(held: dict[str, Any]) -> None:
    who = replace(caller(Role.ADMIN), writes_system=True, **held)
    policy.check_may_export(who, whole=False)
    with pytest.raises(Forbidden):
        policy.check_may_export(who, whole=True)
    for rules in Policy:
        policy.check_may_import(who, rules, whole=False)
        with pytest.raises(Forbidden):
            policy.check_may_import(who, rules, whole=True)


@pytest.mark.parametrize(
    ("held", "where", "is_own"),
    [
        ({}, {}, True),
        ({}, {"repository": "r", "user": "bo"}, True),
        ({}, {"organization": SYSTEM_ORGANIZATION}, False),
        ({"writes_system": True}, {"organization": SYSTEM_ORGANIZATION}, True),
        ({"organization": "acme"}, {}, True),
        ({"organization": "zoo"}, {}, False),
        ({"repositories": frozenset({"r"})}, {"repository": "r"}, True),
        ({"repositories": frozenset({"r"})}, {"repository": "s"}, False),
        ({"repositories": frozenset({"r"})}, {}, False),
        ({"user": "ann"}, {"user": "ann"}, True),
        ({"user": "ann"}, {"user": "bo"}, False),
        ({"user": "ann"}, {}, False),
    ],
)
def test_a_turn_is_replaced_only_where_the_caller_writes_and_by_an_agent_only_its_own(
    held: dict[str, Any], where: dict[str, Any], is_own: bool
) -> None:
    agent = replace(caller(Role.AGENT), **held)
    told = turn(author="me", **where)
    assert policy.is_in_own_scope(agent, told) is is_own
    assert policy.may_replace(agent, told) is is_own
    assert not policy.may_replace(agent, replace(told, author="other"))
    person = replace(agent, role=Role.HUMAN)
    assert policy.may_replace(person, replace(told, author="other")) is is_own


@pytest.mark.parametrize("role", COLUMNS)
def test_the_whole_trail_is_for_whoever_is_not_held_to_a_part(role: Role) -> None:
    policy.check_may_audit(caller(role))
    policy.check_may_audit(replace(caller(role), organization="acme"))
    for held in ({"user": "ana"}, {"repositories": frozenset({"r"})}):
        with pytest.raises(Forbidden):
            policy.check_may_audit(replace(caller(role), **held))


NAMES = st.sampled_from([None, "a", "b", "~system"])


@given(
    st.sampled_from([None, "a", "b"]),
    st.none() | st.frozensets(st.sampled_from("ab")),
    st.sampled_from([None, "a", "b"]),
    NAMES,
    NAMES,
    NAMES,
)
def test_what_a_request_names_narrows_its_caller_or_is_refused(
    held: str | None,
    repositories: frozenset[str] | None,
    own: str | None,
    organization: str | None,
    repository: str | None,
    user: str | None,
) -> None:
    held_to = replace(caller(Role.ADMIN), organization=held, repositories=repositories, user=own)
    who = with_call(held_to, request="r")
    may = (
        (organization is None or (organization != "~system" and held in (None, organization)))
        and (repository is None or repositories is None or repository in repositories)
        and (user is None or own in (None, user))
    )
    if not may:
        with pytest.raises(ScopeViolation):
            policy.narrowed_to(who, organization=organization, repository=repository, user=user)
        return
    narrow = policy.narrowed_to(who, organization=organization, repository=repository, user=user)
    assert narrow.organization == (organization or held)
    assert narrow.repositories == (repositories if repository is None else frozenset({repository}))
    assert narrow.user == (user or own)
    assert (narrow.name, narrow.role, narrow.call.request) == (who.name, who.role, "r")


def test_an_agent_with_a_token_deletes_not_even_nobodys() -> None:
    bearer = Caller(name="me", role=Role.AGENT, token="t1")
    with pytest.raises(Forbidden, match="only its own"):
        delete(OPEN, memory(author=ANYBODY))(bearer)


@requirement("policy/delete-own")
@pytest.mark.parametrize(
    ("may", "attempt"),
    table(
        ("delete one's own", "n y y y y y", delete(GOVERNED, memory())),
        ("delete nobody's", "n y y y y y", delete(GOVERNED, memory(author=ANYBODY))),
        ("delete another's, open", "n n y y y y", delete(OPEN, memory(author="other"))),
        ("delete another's, governed", "n n y y y y", delete(GOVERNED, memory(author="other"))),
        ("reset", "n y y y y y", lambda caller: policy.check_may_act(caller, "reset")),
        ("stop", "n y y y y y", lambda caller: policy.check_may_act(caller, "stop")),
    ),
)
def test_an_agent_deletes_only_its_own(may: list[Role], attempt: Attempt) -> None:
    check(may, attempt)


@pytest.mark.parametrize(
    ("role", "told", "survives"),
    [
        (Role.AGENT, memory(), False),
        (Role.AGENT, memory(RULE), True),
        (Role.HUMAN, memory(RULE), False),
        (Role.ADMIN, memory(scope=SYSTEM), True),
        (Role.AGENT, memory(author="other"), True),
        (Role.AGENT, memory(locked_by=Role.MANAGER), True),
        (Role.HUMAN, memory(author="other"), False),
        (Role.HUMAN, memory(locked_by=Role.ADMIN), True),
        (Role.MANAGER, memory(locked_by=Role.ADMIN), True),
        (Role.ADMIN, memory(author="other", locked_by=Role.HUMAN), True),
        (Role.ADMIN, memory(author="other"), False),
    ],
)
def test_a_reset_spares_what_is_locked_or_protected_and_to_an_agent_what_others_wrote(
    role: Role, told: Memory, survives: bool
) -> None:
    assert policy.survives_reset(caller(role), GOVERNED, told) is survives


@given(st.sampled_from(COLUMNS), st.sampled_from(COLUMNS))
def test_roles_are_ranked_from_viewer_to_human_below_three_equal_stewards(
    one: Role, other: Role
) -> None:
    expected = COLUMNS.index(one) > COLUMNS.index(other) and not {one, other} <= STEWARDS
    assert policy.outranks(one, other) is expected


def test_a_refusal_says_the_act_and_why_and_which_role_may() -> None:
    with pytest.raises(Forbidden) as refusal:
        policy.check_may_lock(caller(Role.AGENT))
    assert refusal.value.act == "lock"
    assert "agent" in refusal.value.reason
    assert refusal.value.needs is Role.MANAGER
    with pytest.raises(Locked) as locked:
        policy.check_may_change(caller(Role.HUMAN), OPEN, memory(locked_by=Role.AGENT))
    assert locked.value.needs is Role.MANAGER


@pytest.mark.parametrize(
    ("who", "may"),
    [
        (Caller(name="owner", role=Role.AGENT), True),
        (Caller(name="root", role=Role.ADMIN, token="t"), True),
        (Caller(name="board", role=Role.VIEWER, token="t"), False),
        (Caller(name="acme", role=Role.ADMIN, organization="acme", token="t"), False),
        (Caller(name="api", role=Role.ADMIN, repositories=frozenset({"api"}), token="t"), False),
        (Caller(name="ana", role=Role.ADMIN, user="ana", token="t"), False),
    ],
    ids=lambda each: each.name if isinstance(each, Caller) else "",
)
def test_figures_of_all_organizations_are_for_those_held_to_none(who: Caller, may: bool) -> None:
    assert policy.may_read_metrics(who) is may
