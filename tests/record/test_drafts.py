"""Where a draft finds its place, and what a change makes of a memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Forbidden, InvalidInput, Locked, Refused
from minutebook.record.filters import visible_filter
from minutebook.record.json_lines import check_sound
from minutebook.record.policy import Policy
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Memory,
    MemoryType,
    Role,
    ScopeLevel,
    Status,
)
from minutebook.record.writing.drafts import (
    Draft,
    apply_changes,
    build_memory,
    locked,
    overwrite,
    unlocked,
    with_status,
)

NOW = datetime(2026, 1, 6, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
OPEN = Policy.OPEN
MANAGER = Caller(name="max", role=Role.MANAGER, organization="acme")

owners = st.none() | st.sampled_from(["a", "b"])
callers = st.builds(
    Caller,
    name=st.just("me"),
    role=st.sampled_from(Role),
    organization=st.sampled_from([None, "acme", SYSTEM_ORGANIZATION]),
    repositories=st.none() | st.frozensets(st.sampled_from("ab")),
    user=owners,
    writes_system=st.booleans(),
    sets_status=st.booleans(),
    governed=st.booleans(),
)
told = st.builds(
    Draft,
    content=st.just("c"),
    type=st.sampled_from(MemoryType),
    scope=st.none() | st.sampled_from(ScopeLevel),
    repository=owners,
    user=owners,
    status=st.none() | st.sampled_from(Status),
)


def memory(caller: Caller = MANAGER, **said: object) -> Memory:
    draft = Draft(content="c", type=MemoryType.FACT)
    return build_memory(caller, OPEN, replace(draft, **said), "m", NOW)  # type: ignore[arg-type]


@given(callers, told, st.sampled_from(Policy))
def test_what_a_caller_writes_they_can_hear_and_it_stands_where_it_says(
    caller: Caller, draft: Draft, rules: Policy
) -> None:
    try:
        made = build_memory(caller, rules, draft, "m", NOW)
    except (Refused, InvalidInput):
        return
    everything = replace(visible_filter(caller, made.organization), with_deleted=True)
    assert everything.passes(made)
    assert (made.scope is ScopeLevel.SYSTEM) is (made.organization == SYSTEM_ORGANIZATION)
    assert made.scope is not ScopeLevel.REPOSITORY or made.repository is not None
    assert made.scope is not ScopeLevel.USER or made.user is not None
    assert draft.scope in (None, made.scope)
    assert draft.repository in (None, made.repository)
    assert (made.status is Status.LOCKED) is (made.locked_by is not None)


@given(callers, told, told, st.sampled_from(Policy))
def test_what_a_caller_changes_they_can_still_hear(
    caller: Caller, first: Draft, second: Draft, rules: Policy
) -> None:
    try:
        made = build_memory(caller, rules, first, "m", NOW)
        after = overwrite(caller, rules, made, second, LATER)
    except (Refused, InvalidInput, Conflict):
        return
    assert visible_filter(caller, after.organization).passes(after)
    assert after.organization == made.organization
    assert (after.scope is ScopeLevel.SYSTEM) is (after.organization == SYSTEM_ORGANIZATION)
    assert after.updated_at == (NOW if after == made else LATER)
    assert after.ingestion_time == NOW
    assert made.locked_by is None


@given(st.sampled_from([each for each in Status if each is not Status.LOCKED]))
def test_a_lock_is_undone_without_a_trace(status: Status) -> None:
    before = replace(memory(), status=status)
    assert unlocked(locked(before, MANAGER, LATER), NOW) == before


def nested(depth: int) -> dict[str, object]:
    """Metadata of so many levels."""
    inside: object = 1
    for level in range(depth - 1):
        inside = [inside] if level % 2 else {"a": inside}
    return {"a": inside}


def test_metadata_is_nested_a_hundred_levels_deep_and_no_deeper() -> None:
    fitting, deep = nested(100), nested(101)
    memory = build_memory(
        MANAGER, OPEN, Draft(content="c", type=MemoryType.FACT, metadata=fitting), "m", NOW
    )
    assert memory.metadata == fitting
    for refused in (
        lambda: build_memory(
            MANAGER, OPEN, Draft(content="c", type=MemoryType.FACT, metadata=deep), "m", NOW
        ),
        lambda: apply_changes(MANAGER, OPEN, memory, {"metadata": deep}, LATER),
        lambda: check_sound(replace(memory, metadata=deep)),
    ):
        with pytest.raises(InvalidInput, match="deeper than 100 levels"):
            refused()


@pytest.mark.parametrize(
    "content", ["", " \n", "\u3000", "\u200b\u00ad", "\ufeff", "\ufe0f", "\u3164", "\u2800"]
)
def test_a_text_without_a_visible_sign_is_no_memory(content: str) -> None:
    for refused in (
        lambda: memory(content=content),
        lambda: apply_changes(MANAGER, OPEN, memory(), {"content": content}, LATER),
        lambda: check_sound(replace(memory(), content=content)),
    ):
        with pytest.raises(InvalidInput, match="must not be blank"):
            refused()


@pytest.mark.parametrize("content", ["a", ".", "日", "👩‍👩‍👧", "🏴", "€", "क्", "\u200bx"])
def test_a_text_with_a_visible_sign_is_one(content: str) -> None:
    assert memory(content=content).content == content


def test_a_change_of_a_locked_memory_is_refused_but_for_a_status_alone() -> None:
    shut = locked(memory(), MANAGER, NOW)
    for changes in ({"content": "x"}, {"status": Status.ACTIVE, "title": "x"}, {}):
        with pytest.raises(Locked):
            apply_changes(MANAGER, OPEN, shut, changes, LATER)
    opened = apply_changes(MANAGER, OPEN, shut, {"status": Status.DRAFT}, LATER)
    assert (opened.status, opened.locked_by) == (Status.DRAFT, None)
    with pytest.raises(Forbidden):
        apply_changes(
            replace(MANAGER, role=Role.HUMAN), OPEN, shut, {"status": Status.DRAFT}, LATER
        )


def test_deprecating_ends_a_memory_and_another_status_lets_it_hold_again() -> None:
    gone = with_status(MANAGER, memory(), Status.DEPRECATED, LATER)
    assert gone.valid_until == LATER
    again = with_status(MANAGER, gone, Status.ACTIVE, LATER)
    assert (again.status, again.valid_until) == (Status.ACTIVE, None)
    ended = replace(memory(), valid_until=LATER)
    assert with_status(MANAGER, ended, Status.DRAFT, LATER).valid_until == LATER


def test_what_is_not_said_stays() -> None:
    made = memory(title="T", importance=7.0, scope=ScopeLevel.REPOSITORY, repository="r")
    after = overwrite(MANAGER, OPEN, made, Draft(content="d", type=MemoryType.RISK), LATER)
    assert (after.title, after.importance, after.repository) == ("T", 7.0, "r")
    assert (after.content, after.type) == ("d", MemoryType.RISK)


@pytest.mark.parametrize(
    ("role", "sets_status", "changes", "status"),
    [
        (Role.AGENT, False, {"content": "x"}, Status.UNVERIFIED),
        (Role.AGENT, False, {"title": "x"}, Status.UNVERIFIED),
        (Role.AGENT, False, {"importance": 2.0}, Status.VERIFIED),
        (Role.AGENT, True, {"content": "x"}, Status.VERIFIED),
        (Role.HUMAN, False, {"content": "x"}, Status.VERIFIED),
        (Role.AGENT, False, {"content": "x", "status": Status.DRAFT}, Status.DRAFT),
    ],
)
def test_what_an_agent_rewrites_is_verified_no_longer(
    role: Role, sets_status: bool, changes: dict[str, object], status: Status
) -> None:
    caller = replace(MANAGER, role=role, sets_status=sets_status)
    verified = memory(status=Status.VERIFIED)
    assert apply_changes(caller, OPEN, verified, changes, LATER).status is status
