"""Tokens: made by the owner, shown once, taken back at once, and all that is refused entered."""

import hashlib
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest

from minutebook.memory.access.tokens import NOBODY, REFUSAL_IS_ENTERED_EVERY, USE_IS_NOTED_EVERY
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    StoreBusy,
    Unidentified,
)
from minutebook.record.policy import Policy
from minutebook.record.records import SYSTEM_ORGANIZATION, Role, Token
from minutebook.record.rights.grants import Grant
from minutebook.store.token_uses import TokenUses
from tests.serve.contracts.requirements import requirement
from tests.world import NOON, Opener, World, wait_until

OWNER = Caller(name="root", role=Role.HUMAN, writes_system=True)
GRANT = Grant(name="ci", role=Role.AGENT, organization="acme", repositories=("api",))


def kept(world: World, id: str) -> Token:
    found = world.store.get(Token, SYSTEM_ORGANIZATION, id)
    assert isinstance(found, Token)
    return found


def refusal(world: World, secret: str) -> str:
    with pytest.raises(Unidentified) as refused:
        world.app.tokens.caller_of(secret)
    return refused.value.reason


def outcomes(world: World, organization: str, subject: str) -> list[tuple[str, str, str]]:
    return [(e.act, e.actor, e.outcome) for e in world.entries(subject, organization)]


def test_who_shows_the_secret_is_who_it_was_made_for(world: World) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    assert world.app.tokens.caller_of(issued.secret) == Caller(
        name="ci",
        role=Role.AGENT,
        organization="acme",
        repositories=frozenset({"api"}),
        token=issued.token.id,
        repository_bound=True,
    )


def test_the_secret_is_kept_nowhere_but_as_a_hash(world: World, tmp_path: Path) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    assert issued.secret.startswith(f"mbk_{issued.token.id}")
    assert kept(world, issued.token.id).digest == hashlib.sha256(issued.secret.encode()).hexdigest()
    assert issued.secret not in repr(issued)
    drawn = issued.secret.removeprefix(f"mbk_{issued.token.id}").encode()
    world.app.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(drawn in path.read_bytes() for path in files)


def test_no_two_secrets_share_what_is_secret_in_them(world: World) -> None:
    issued = [world.app.tokens.create(OWNER, GRANT) for _ in range(5)]
    drawn = {each.secret.removeprefix(f"mbk_{each.token.id}") for each in issued}
    assert len(drawn) == len(issued)
    assert {len(each) for each in drawn} == {43}


def test_another_secret_lets_nobody_in_and_tells_no_more_than_an_unknown_token(
    world: World,
) -> None:
    one, two = (world.app.tokens.create(OWNER, GRANT) for _ in range(2))
    world.app.tokens.revoke(OWNER, two.token.id)
    head = len("mbk_") + 20
    crossed = one.secret[:head] + two.secret[head:]
    unknown = "mbk_" + "0" * 20 + one.secret[head:]
    wrongs = [crossed, two.secret[:head] + one.secret[head:], unknown, one.secret + "A"]
    wrongs += [one.secret[:-1], one.secret.upper(), "mbk_", "", "\ud800", f" {one.secret}"]
    assert {refusal(world, wrong) for wrong in wrongs} == {"this token is not one of this server's"}
    assert "revoked" in refusal(world, two.secret)


def test_who_shows_a_wrong_secret_is_not_entered_as_who_the_token_was_made_for(
    world: World,
) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    refusal(world, issued.secret[:-2] + "xx")
    entry = world.entries(issued.token.id, "acme")[-1]
    assert (entry.actor, entry.token, entry.outcome) == (NOBODY, "", "WrongSecret")


def test_a_revoked_token_lets_nobody_in_through_any_app(opener: Opener) -> None:
    here, there = opener(), opener()
    issued = here.app.tokens.create(OWNER, GRANT)
    assert there.app.tokens.caller_of(issued.secret).name == "ci"
    here.app.tokens.revoke(OWNER, issued.token.id)
    assert "revoked" in refusal(there, issued.secret)
    assert outcomes(there, "acme", issued.token.id) == [
        ("create_token", "root", "done"),
        ("revoke_token", "root", "done"),
        ("enter", "ci", "Revoked"),
    ]


def test_a_token_lets_in_until_the_instant_of_its_end(world: World) -> None:
    ends = NOON + timedelta(seconds=1)
    issued = world.app.tokens.create(OWNER, replace(GRANT, expires_at=ends))
    assert world.app.tokens.caller_of(issued.secret).name == "ci"
    world.clock.turn(1)
    assert "expired at 2026-01-06T12:00:01Z" in refusal(world, issued.secret)
    assert outcomes(world, "acme", issued.token.id)[-1] == ("enter", "ci", "Expired")


def test_a_rotated_token_has_a_new_secret_and_a_new_end_and_is_the_same_else(
    opener: Opener,
) -> None:
    here, there = opener(), opener()
    first = here.app.tokens.create(OWNER, GRANT)
    caller = there.app.tokens.caller_of(first.secret)
    second = here.app.tokens.rotate(OWNER, first.token.id, NOON + timedelta(days=1))
    assert "not one of" in refusal(there, first.secret)
    assert there.app.tokens.caller_of(second.secret) == caller
    assert second.token.expires_at == NOON + timedelta(days=1)


def test_what_was_revoked_stays_so(world: World) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    world.app.tokens.revoke(OWNER, issued.token.id)
    with pytest.raises(Conflict, match="revoked already"):
        world.app.tokens.revoke(OWNER, issued.token.id)
    with pytest.raises(Conflict, match="token create"):
        world.app.tokens.rotate(OWNER, issued.token.id, None)
    with pytest.raises(NotFound):
        world.app.tokens.revoke(OWNER, "nope")


def test_only_the_owner_makes_lists_and_changes_tokens_and_attempts_are_entered(
    world: World,
) -> None:
    issued = world.app.tokens.create(OWNER, replace(GRANT, role=Role.ADMIN))
    admin = world.app.tokens.caller_of(issued.secret)
    id, tokens = issued.token.id, world.app.tokens
    for attempt in (
        lambda: tokens.create(admin, GRANT),
        lambda: tokens.revoke(admin, id),
        lambda: tokens.rotate(admin, id, None),
        lambda: tokens.list(admin),
        lambda: tokens.last_uses(admin),
    ):
        with pytest.raises(Forbidden, match="minutebook token create"):
            attempt()
    assert tokens.list(OWNER) == [kept(world, id)]
    refused = [e for e in world.trail("acme") if e.outcome == "Forbidden"]
    assert [e.act for e in refused] == ["create_token", "revoke_token", "rotate_token"]
    assert {(e.actor, e.token) for e in refused} == {("ci", id)}


def test_a_grant_that_does_not_fit_makes_no_token(world: World) -> None:
    for grant in (replace(GRANT, name="agent"), replace(GRANT, expires_at=NOON)):
        with pytest.raises(InvalidInput):
            world.app.tokens.create(OWNER, grant)
    assert world.app.tokens.list(OWNER) == []


def test_knocking_without_end_does_not_fill_the_trail(world: World) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    world.app.tokens.revoke(OWNER, issued.token.id)
    for _ in range(50):
        refusal(world, issued.secret)
        refusal(world, "mbk_nonsense")
    assert len(outcomes(world, SYSTEM_ORGANIZATION, NOBODY)) == 1
    assert len(outcomes(world, "acme", issued.token.id)) == 3
    world.clock.turn(REFUSAL_IS_ENTERED_EVERY.total_seconds())
    refusal(world, "mbk_nonsense")
    assert len(outcomes(world, SYSTEM_ORGANIZATION, NOBODY)) == 2
    world.clock.turn(-3600)
    refusal(world, "mbk_nonsense")
    assert len(outcomes(world, SYSTEM_ORGANIZATION, NOBODY)) == 3


def test_no_entry_holds_a_secret(world: World) -> None:
    issued = world.app.tokens.create(OWNER, replace(GRANT, organization=None))
    refusal(world, issued.secret + "x")
    refusal(world, issued.secret[:-1] + "-")
    caller = world.app.tokens.caller_of(issued.secret)
    world.by(**{name: getattr(caller, name) for name in ("name", "role", "token")}).remember("Tea")
    told = repr([*world.trail(), *world.trail(SYSTEM_ORGANIZATION)])
    for start, end in combinations((24, 40, 60), 2):
        assert issued.secret[start:end] not in told


def test_acts_are_entered_with_the_token_they_came_by(world: World) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    bearer = replace(world, caller=world.app.tokens.caller_of(issued.secret))
    id = bearer.remember("Ana likes tea")
    assert [(e.act, e.actor, e.token) for e in world.entries(id, "acme")] == [
        ("created", "ci", issued.token.id)
    ]
    assert world.app.trail.verify("acme") is None


def test_the_use_of_a_token_is_noted_to_the_hour(world: World) -> None:
    issued, tokens = world.app.tokens.create(OWNER, GRANT), world.app.tokens
    assert tokens.last_uses(OWNER) == {}
    id, used = issued.token.id, world.clock.turn()
    before = world.store.sequence(SYSTEM_ORGANIZATION)
    tokens.caller_of(issued.secret)
    wait_until(lambda: tokens.last_uses(OWNER) == {id: used})
    world.clock.turn(USE_IS_NOTED_EVERY.total_seconds() - 1)
    tokens.caller_of(issued.secret)
    assert tokens.last_uses(OWNER) == {id: used}
    later = world.clock.turn()
    tokens.caller_of(issued.secret)
    wait_until(lambda: tokens.last_uses(OWNER) == {id: later})
    assert world.store.sequence(SYSTEM_ORGANIZATION) == before


def test_a_use_that_could_not_be_noted_is_noted_with_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    issued, tokens = world.app.tokens.create(OWNER, GRANT), world.app.tokens
    refused = threading.Event()

    def note(uses: TokenUses, token: str, at: datetime) -> None:
        refused.set()
        raise StoreBusy("another process is writing")

    with monkeypatch.context() as failing:
        failing.setattr(TokenUses, "note", note)
        tokens.caller_of(issued.secret)
        assert refused.wait(60)

    def is_noted() -> bool:
        tokens.caller_of(issued.secret)
        return issued.token.id in tokens.last_uses(OWNER)

    wait_until(is_noted)


@requirement("policy/governed-with-tokens")
def test_a_store_is_governed_once_a_token_was_made_in_running_apps_too(opener: Opener) -> None:
    here, there = opener(), opener()
    assert here.app.rules() is there.app.rules() is Policy.OPEN
    issued = here.app.tokens.create(OWNER, GRANT)
    assert here.app.rules() is there.app.rules() is Policy.GOVERNED
    here.app.tokens.revoke(OWNER, issued.token.id)
    assert opener().app.rules() is Policy.GOVERNED


def test_a_policy_that_was_chosen_stays_whoever_may_come_in(opener: Opener) -> None:
    world = opener(policy=Policy.OPEN)
    world.app.tokens.create(OWNER, GRANT)
    assert world.app.rules() is Policy.OPEN
    assert opener(policy=Policy.GOVERNED, name="two").app.rules() is Policy.GOVERNED


@pytest.mark.needs("sign_in")
def test_a_store_that_trusts_an_issuer_is_governed_from_the_start(opener: Opener) -> None:
    world = opener(jwt_issuer="https://login.example.org/")
    assert world.app.rules() is Policy.GOVERNED
