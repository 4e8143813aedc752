"""The table of who may do what: one row an act, one letter a role."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.domain import policy
from minutebook.domain.errors import Forbidden, Locked, Refused
from minutebook.domain.policy import Caller, Policy
from minutebook.domain.records import Memory, MemoryType, Role, ScopeLevel, Status
from tests.contracts.requirements import requirement

NOW = datetime(2026, 1, 6, 12, tzinfo=UTC)
OPEN, GOVERNED = Policy.OPEN, Policy.GOVERNED
COLUMNS = (Role.VIEWER, Role.AGENT, Role.HUMAN, Role.MANAGER, Role.ARCHITECT, Role.ADMIN)
STEWARDS = frozenset(COLUMNS[3:])

FACT, RULE, CONSTRAINT = MemoryType.FACT, MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT
REPOSITORY, SYSTEM = ScopeLevel.REPOSITORY, ScopeLevel.SYSTEM


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


def unlock(told: Memory) -> Attempt:
    return lambda who: policy.check_may_unlock(who, told)


def by_system_door(attempt: Attempt) -> Attempt:
    return lambda who: attempt(replace(who, writes_system=True))


def table(*rows: tuple[str, str, Attempt]) -> list[object]:
    return [
        pytest.param(role, letter == "y", attempt, id=f"{act}-{role}")
        for act, letters, attempt in rows
        for role, letter in zip(COLUMNS, letters.split(), strict=True)
    ]


def check(role: Role, may: bool, attempt: Attempt) -> None:
    if may:
        attempt(caller(role))
        return
    with pytest.raises(Refused):
        attempt(caller(role))


@requirement("policy/write")
@pytest.mark.parametrize(
    ("role", "may", "attempt"),
    table(
        # viewer, agent, human, manager, architect, admin
        ("write a fact, open", "n y y y y y", write(OPEN)),
        ("write a fact, governed", "n y y y y y", write(GOVERNED)),
        ("change a fact, governed", "n y y y y y", change(GOVERNED, memory())),
        ("change another's fact", "n y y y y y", change(GOVERNED, memory(author="other"))),
        ("change the graph", "n y y y y y", policy.check_may_relate),
    ),
)
def test_everyone_but_a_viewer_writes(role: Role, may: bool, attempt: Attempt) -> None:
    check(role, may, attempt)


@requirement("policy/protected-types")
@pytest.mark.parametrize(
    ("role", "may", "attempt"),
    table(
        ("write a rule, governed", "n n y y y y", write(GOVERNED, RULE)),
        ("write a constraint, governed", "n n y y y y", write(GOVERNED, CONSTRAINT)),
        ("write a rule, open", "n y y y y y", write(OPEN, RULE)),
        ("write a constraint, open", "n y y y y y", write(OPEN, CONSTRAINT)),
        ("change a rule, governed", "n n y y y y", change(GOVERNED, memory(RULE))),
        ("delete a rule, governed", "n n y y y y", delete(GOVERNED, memory(RULE))),
        ("change a rule, open", "n y y y y y", change(OPEN, memory(RULE))),
    ),
)
def test_a_governed_store_keeps_rules_from_agents(role: Role, may: bool, attempt: Attempt) -> None:
    check(role, may, attempt)


@requirement("policy/system-scope")
@pytest.mark.parametrize(
    ("role", "may", "attempt"),
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
    ),
)
def test_system_scope_is_written_only_through_a_door_that_opens_it(
    role: Role, may: bool, attempt: Attempt
) -> None:
    check(role, may, attempt)


@requirement("policy/locked")
@pytest.mark.parametrize("rules", Policy)
@pytest.mark.parametrize("role", COLUMNS[1:])
@pytest.mark.parametrize("locker", COLUMNS)
@pytest.mark.parametrize("act", [change, delete])
def test_nobody_changes_or_deletes_what_is_locked(
    rules: Policy, role: Role, locker: Role, act: Callable[[Policy, Memory], Attempt]
) -> None:
    with pytest.raises(Locked) as refusal:
        act(rules, memory(locked_by=locker))(caller(role))
    assert refusal.value.id == "m"
    assert str(locker) in refusal.value.reason


@requirement("policy/lock-unlock")
@pytest.mark.parametrize(
    ("role", "may", "attempt"),
    table(
        ("lock", "n n n y y y", policy.check_may_lock),
        ("unlock an agent's", "n n n y y y", unlock(memory(locked_by=Role.AGENT))),
        ("unlock a person's", "n n n y y y", unlock(memory(locked_by=Role.HUMAN))),
        ("unlock a manager's", "n n n y y y", unlock(memory(locked_by=Role.MANAGER))),
        ("unlock an architect's", "n n n y y y", unlock(memory(locked_by=Role.ARCHITECT))),
        ("unlock an admin's", "n n n y y y", unlock(memory(locked_by=Role.ADMIN))),
    ),
)
def test_stewards_lock_and_unlock(role: Role, may: bool, attempt: Attempt) -> None:
    check(role, may, attempt)


@requirement("policy/delete-own")
@pytest.mark.parametrize(
    ("role", "may", "attempt"),
    table(
        ("delete one's own", "n y y y y y", delete(GOVERNED, memory())),
        ("delete another's, open", "n n y y y y", delete(OPEN, memory(author="other"))),
        ("delete another's, governed", "n n y y y y", delete(GOVERNED, memory(author="other"))),
        ("reset", "n y y y y y", policy.check_may_reset),
    ),
)
def test_an_agent_deletes_only_its_own(role: Role, may: bool, attempt: Attempt) -> None:
    check(role, may, attempt)


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


def test_a_refusal_says_the_act_and_why() -> None:
    with pytest.raises(Forbidden) as refusal:
        policy.check_may_lock(caller(Role.AGENT))
    assert refusal.value.act == "lock"
    assert "agent" in refusal.value.reason
