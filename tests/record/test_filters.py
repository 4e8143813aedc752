from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.caller import Caller, FolderScope, without_folder_scope
from minutebook.record.filters import (
    Filter,
    MemoryQuery,
    default_organization,
    repository_of,
    visible_filter,
)
from minutebook.record.policy import narrowed_to
from minutebook.record.records import (
    DEFAULT_ORGANIZATION,
    Entity,
    Memory,
    MemoryType,
    Record,
    Relation,
    Role,
    ScopeLevel,
    Status,
)
from minutebook.record.writing.drafts import resolve_scope

NOON = datetime(2026, 1, 6, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


def memory(**fields: object) -> Memory:
    told: dict[str, object] = {
        "organization": "acme",
        "id": "m",
        "content": "c",
        "scope": ScopeLevel.ORGANIZATION,
        "type": MemoryType.SEMANTIC,
        "status": Status.ACTIVE,
        "author": "a",
        "event_time": NOON,
        "ingestion_time": NOON,
        "updated_at": NOON,
        "valid_from": NOON,
    }
    return Memory(**(told | fields))  # type: ignore[arg-type]


def entity(**fields: object) -> Entity:
    told: dict[str, object] = {
        "organization": "acme",
        "id": "e",
        "name": "Ana",
        "type": "person",
        "author": "agent",
        "created_at": NOON,
    }
    return Entity(**(told | fields))  # type: ignore[arg-type]


RELATION = Relation(
    organization="acme",
    id="r",
    source="e",
    target="f",
    type="knows",
    created_at=NOON,
)
A, NONE = frozenset({"a"}), frozenset[str]()


@pytest.mark.parametrize(
    ("conditions", "record", "passes"),
    [
        ({}, memory(), True),
        ({}, memory(organization="other"), False),
        ({}, RELATION, True),
        # Repository and user: shared records pass, so do one's own; None asks for nothing.
        ({"repositories": None}, memory(repository="a"), True),
        ({"repositories": A}, memory(repository="a"), True),
        ({"repositories": A}, memory(repository="b"), False),
        ({"repositories": A}, memory(), True),
        ({"repositories": NONE}, memory(), True),
        ({"repositories": NONE}, memory(repository="a"), False),
        ({"users": A}, memory(user="a"), True),
        ({"users": A}, memory(user="b"), False),
        ({"users": A}, memory(), True),
        ({"users": A}, entity(user="b"), False),
        ({"users": A}, entity(user="a"), True),
        ({"users": A, "repositories": A}, memory(user="a", repository="b"), False),
        ({"users": A, "repositories": A}, RELATION, True),
        # Validity and deletion concern memories only.
        ({"valid_at": NOON}, memory(), True),
        ({"valid_at": NOON}, memory(valid_from=LATER), False),
        ({"valid_at": LATER}, memory(valid_until=LATER), False),
        ({"valid_at": NOON}, memory(valid_until=LATER), True),
        ({"valid_at": NOON}, RELATION, True),
        ({"differs_between": (NOON, LATER)}, memory(valid_from=LATER), True),
        ({"differs_between": (NOON, LATER)}, memory(valid_until=LATER), True),
        ({"differs_between": (NOON, LATER)}, memory(), False),
        ({"differs_between": (NOON, NOON)}, memory(), False),
        ({"differs_between": (NOON, LATER)}, RELATION, True),
        ({}, memory(valid_until=NOON), True),
        ({}, memory(deleted_at=NOON), False),
        ({"with_deleted": True}, memory(deleted_at=NOON), True),
        # Equality concerns every kind.
        ({"equal": {"type": MemoryType.SEMANTIC}}, memory(), True),
        ({"equal": {"type": MemoryType.FACT}}, memory(), False),
        ({"equal": {"user": None}}, memory(user="a"), False),
        ({"starts": {"title": "dep"}}, memory(title="Deployment"), True),
        ({"starts": {"title": "DEPLOY"}}, memory(title="deployment"), True),
        ({"starts": {"title": "ploy"}}, memory(title="Deployment"), False),
        ({"starts": {"title": "Ä"}}, memory(title="ähnlich"), False),
        ({"starts": {"title": ""}}, memory(title=None), False),
        ({"equal": {"user": "a"}}, memory(), False),
        ({"equal": {"name": "Ana", "type": "person"}}, entity(), True),
        ({"equal": {"name": "Ana", "type": "dog"}}, entity(), False),
    ],
)
def test_a_filter_passes(conditions: Mapping[str, object], record: Record, passes: bool) -> None:
    assert Filter(organization="acme", **conditions).passes(record) is passes  # type: ignore[arg-type]


owners = st.sampled_from([None, "a", "b"])
groups = st.none() | st.frozensets(st.sampled_from(["a", "b", "c"]))
organizations = st.sampled_from(["acme", "other"])
records = st.builds(memory, organization=organizations, repository=owners, user=owners) | st.builds(
    entity, organization=organizations, repository=owners, user=owners
)
callers = st.builds(
    Caller,
    name=st.just("me"),
    role=st.sampled_from(Role),
    organization=st.none() | organizations,
    repositories=groups,
    user=owners,
)


@given(callers, organizations, records)
def test_nothing_outside_the_callers_scopes_passes(
    caller: Caller, organization: str, record: Memory | Entity
) -> None:
    if visible_filter(caller, organization).passes(record):
        assert record.organization == organization
        assert caller.user is None or record.user in (None, caller.user)
        assert (
            caller.repositories is None
            or record.repository is None
            or record.repository in caller.repositories
        )


@given(callers, records)
def test_all_inside_the_callers_scopes_passes(caller: Caller, record: Memory | Entity) -> None:
    inside = (caller.user is None or record.user in (None, caller.user)) and (
        caller.repositories is None or record.repository in (None, *caller.repositories)
    )
    assert visible_filter(caller, record.organization).passes(record) is inside


def test_whoever_named_no_organization_writes_into_the_default_one() -> None:
    assert default_organization(Caller(name="me", role=Role.AGENT)) == DEFAULT_ORGANIZATION
    assert default_organization(Caller(name="me", role=Role.AGENT, organization="acme")) == "acme"


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ({}, True),
        ({"n": 1}, True),
        ({"n": 1.0}, True),
        ({"n": True}, False),
        ({"n": "1"}, False),
        ({"flag": True, "n": 1}, True),
        ({"flag": 1}, False),
        ({"deep": {"list": [1, {"a": None}]}}, True),
        ({"deep": {"list": [True, {"a": None}]}}, False),
        ({"deep": {"list": [1]}}, False),
        ({"deep": {}}, False),
        ({"absent": None}, False),
        ({"null": None}, True),
    ],
)
def test_metadata_fits_when_each_key_that_is_asked_for_has_the_same_json_value(
    asked: dict[str, object], fits: bool
) -> None:
    metadata = {"n": 1, "flag": True, "deep": {"list": [1, {"a": None}]}, "null": None}
    assert MemoryQuery(metadata=asked).fits_metadata(memory(metadata=metadata)) is fits


@pytest.mark.parametrize(
    ("scope", "repositories", "written", "shown"),
    [
        (None, None, None, None),
        (FolderScope(), None, None, set()),
        (FolderScope("api"), None, "api", {"api"}),
        (FolderScope("api", frozenset({"old"})), None, "api", {"api", "old"}),
        (FolderScope(None, frozenset({"old"})), None, None, {"old"}),
        # What the caller is bound to, or names, goes before the folder, narrower or not.
        (FolderScope("api"), {"web"}, "web", {"web"}),
        (FolderScope("api"), set(), None, set()),
    ],
)
def test_a_folder_is_a_default_for_writes_and_for_what_is_shown(
    scope: FolderScope | None,
    repositories: set[str] | None,
    written: str | None,
    shown: set[str] | None,
) -> None:
    bound = None if repositories is None else frozenset(repositories)
    caller = Caller(name="ada", role=Role.AGENT, repositories=bound, folder_scope=scope)
    assert repository_of(caller) == written
    assert visible_filter(caller, "acme").repositories == shown
    assert visible_filter(without_folder_scope(caller), "acme").repositories == bound


def test_a_repository_that_is_named_goes_before_the_folders() -> None:
    caller = Caller(name="ada", role=Role.AGENT, folder_scope=FolderScope("api"))
    named = resolve_scope(caller, None, "web", None)
    assert (named.scope, named.repository) == (ScopeLevel.REPOSITORY, "web")
    whole = resolve_scope(caller, ScopeLevel.ORGANIZATION, None, None)
    assert (whole.scope, whole.repository) == (ScopeLevel.ORGANIZATION, None)
    held = narrowed_to(caller, repository="web")
    assert visible_filter(held, "acme").repositories == frozenset({"web"})
