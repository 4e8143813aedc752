"""Whom a token makes of its bearer."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Forbidden, InvalidInput, ScopeViolation
from minutebook.record.policy import Policy, narrowed_to, rules_of
from minutebook.record.records import SYSTEM_ORGANIZATION, Role, Token
from minutebook.record.rights.grants import (
    Grant,
    caller_with,
    check_expiry,
    check_grant,
    grant_of,
    is_live,
)
from tests.store.given import tokens
from tests.store.samples import INSTANTS, token

names = st.sampled_from(["a", "b", "c"])
grants = st.builds(
    Grant,
    name=names,
    role=st.sampled_from(Role),
    organization=st.none() | names,
    repositories=st.none() | st.lists(names, min_size=1, max_size=2).map(tuple),
    user=st.none() | names,
)


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"name": ""}, "name"),
        ({"name": " ana"}, "name"),
        ({"name": "ana\n"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "agent"}, "name"),
        ({"organization": ""}, "organization"),
        ({"organization": SYSTEM_ORGANIZATION}, "organization"),
        ({"repositories": ()}, "repository"),
        ({"repositories": ("api", "")}, "repository"),
        ({"user": "\0"}, "user"),
    ],
)
def test_a_grant_that_names_nobody_is_refused_with_its_argument(
    changes: dict[str, object], argument: str
) -> None:
    sound = Grant(name="ana", role=Role.AGENT)
    check_grant(sound)
    with pytest.raises(InvalidInput) as refused:
        check_grant(replace(sound, **changes))  # type: ignore[arg-type]
    assert refused.value.argument == argument


def test_an_end_lies_in_the_future_or_there_is_none() -> None:
    now = INSTANTS[1]
    check_expiry(None, now)
    check_expiry(now + timedelta(microseconds=1), now)
    with pytest.raises(InvalidInput):
        check_expiry(now, now)


@given(tokens, st.sampled_from(INSTANTS))
def test_a_token_is_live_until_its_end_unless_it_was_taken_back(told: Token, now: datetime) -> None:

    ended = told.expires_at is not None and told.expires_at <= now
    assert is_live(told, now) is (told.revoked_at is None and not ended)


def test_a_token_grants_what_it_was_made_with() -> None:
    kept = token(bound_organization="acme", bound_repositories=("api", "web"), bound_user="ana")
    assert caller_with(grant_of(kept), "t1") == Caller(
        name="ana",
        role=Role.AGENT,
        organization="acme",
        repositories=frozenset({"api", "web"}),
        user="ana",
        token="t1",
        repository_bound=True,
    )


@given(grants, st.none() | names, st.none() | names, st.none() | names)
def test_what_a_request_names_narrows_a_grant_and_never_widens_it(
    grant: Grant, organization: str | None, repository: str | None, user: str | None
) -> None:
    caller = caller_with(grant, "t1")
    fits = (
        organization in (None, grant.organization or organization)
        and repository in (None, *(grant.repositories or (repository,)))
        and user in (None, grant.user or user)
    )
    if not fits:
        with pytest.raises(ScopeViolation):
            narrowed_to(caller, organization=organization, repository=repository, user=user)
        return
    held = narrowed_to(caller, organization=organization, repository=repository, user=user)
    assert (held.name, held.role, held.token) == (caller.name, caller.role, caller.token)
    assert held.organization == (organization or grant.organization)
    assert held.user == (user or grant.user)
    if caller.repositories is not None:
        assert held.repositories is not None
        assert held.repositories <= caller.repositories


def test_only_the_owner_of_the_data_directory_issues_tokens() -> None:
    policy.check_may_issue(Caller(name="ana", role=Role.HUMAN, writes_system=True))
    for role in Role:
        with pytest.raises(Forbidden):
            policy.check_may_issue(Caller(name="ana", role=role))


def test_the_bearer_of_a_token_names_no_folder_that_the_owner_did_not() -> None:
    owner, bearer = (Caller(name="ana", role=Role.ADMIN, token=id) for id in ("", "t1"))
    for caller, named in ((owner, False), (owner, True), (bearer, True)):
        policy.check_may_name_folder(caller, roots_named=named)
    with pytest.raises(Forbidden, match="index_roots"):
        policy.check_may_name_folder(bearer, roots_named=False)


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_policy_is_the_one_that_was_chosen_else_it_follows_who_may_come_in(
    *, is_shared: bool
) -> None:
    for chosen in Policy:
        assert rules_of(chosen, is_shared=is_shared) is chosen
    assert rules_of(None, is_shared=is_shared) is (Policy.GOVERNED if is_shared else Policy.OPEN)
