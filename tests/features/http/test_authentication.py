"""Who asks over HTTP, by the header they show."""

import asyncio
import time
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette

from minutebook.config import settings_with
from minutebook.features.http.requests.authentication import Authenticator, user_of
from minutebook.memory.access.tokens import NOBODY
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, KeysUnavailable, Unidentified
from minutebook.record.records import SYSTEM_ORGANIZATION, Role
from minutebook.record.rights.grants import Grant, is_live
from tests.features.sign_in.issuing import AUDIENCE, ISSUER, KEYS, signed
from tests.world import Opener, World

OWNER = Caller(name="root", role=Role.HUMAN, writes_system=True)
GRANT = Grant(name="ci", role=Role.AGENT, organization="acme")
KNOWLEDGE = "/mcp/knowledge"


def identity(world: World, **settings: object) -> Authenticator:
    return Authenticator(settings_with(**settings), lambda: world.app)


@pytest.fixture
def trusting(opener: Opener, tmp_path: Path) -> tuple[World, Authenticator]:
    """A store that trusts an issuer."""
    keys = tmp_path / "keys.json"
    keys.write_bytes(KEYS)
    world = opener(jwt_issuer=ISSUER)
    settings = {"jwt_issuer": ISSUER, "jwt_audience": (AUDIENCE,), "jwt_keys": str(keys)}
    return world, identity(world, public_url="https://memory.example.org/", **settings)


def refusal(knows: Authenticator, authorization: str | None) -> Unidentified:
    with pytest.raises(Unidentified) as refused:
        knows.caller_of(authorization)
    return refused.value


def test_the_owner_needs_no_token_until_one_was_made(world: World) -> None:
    knows = identity(world, agent="me", role=Role.HUMAN, organization="acme")
    assert not knows.is_required()
    assert knows.caller_of(None) == Caller(name="me", role=Role.HUMAN, organization="acme")
    issued = world.app.tokens.create(OWNER, GRANT)
    assert knows.is_required()
    assert not refusal(knows, None).is_given
    world.app.tokens.revoke(OWNER, issued.token.id)
    assert not refusal(knows, None).is_given


def test_nobody_is_the_owner_where_a_proxy_lets_the_public_in(world: World) -> None:
    knows = identity(world, public_url="https://memory.example.org")
    assert knows.is_required()
    assert not refusal(knows, None).is_given


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER   {}  "])
def test_who_shows_a_token_is_who_it_was_made_for(world: World, form: str) -> None:
    issued = world.app.tokens.create(OWNER, GRANT)
    caller = identity(world).caller_of(form.format(issued.secret))
    assert (caller.name, caller.organization, caller.token) == ("ci", "acme", issued.token.id)


@pytest.mark.parametrize(
    "header",
    [
        *("", "Bearer", "Bearer ", "Basic YTpi", "{}", "Token {}", "Bearer {} {}", "Bearer é"),
        *("Bearer " + "a" * 20_000, "Bearer mbk_", "Bearer \ud800", "Bearer {},Bearer {}"),
    ],
)
def test_any_other_header_lets_nobody_in_whether_tokens_are_needed_or_not(
    world: World, header: str
) -> None:
    assert refusal(identity(world), header.replace("{}", "mbk_x")).is_given
    issued = world.app.tokens.create(OWNER, GRANT)
    told = refusal(identity(world), header.replace("{}", issued.secret))
    assert told.is_given
    assert issued.secret not in told.reason
    assert NOBODY in {e.subject for e in world.trail(SYSTEM_ORGANIZATION)}


def test_signed_tokens_let_in_beside_our_own(trusting: tuple[World, Authenticator]) -> None:
    world, knows = trusting
    assert knows.is_required()
    assert knows.caller_of(f"Bearer {signed(minutebook_role='human')}").role is Role.HUMAN
    issued = world.app.tokens.create(OWNER, GRANT)
    assert knows.caller_of(f"Bearer {issued.secret}").token == issued.token.id
    assert "expired" in refusal(knows, f"Bearer {signed(exp=1)}").reason
    assert "sub" in refusal(knows, f"Bearer {signed(sub=None)}").reason
    assert [e.outcome for e in world.entries(NOBODY, SYSTEM_ORGANIZATION)] == [
        "ExpiredSignatureError",
        "MissingRequiredClaimError",
    ]


def test_without_an_issuer_a_signed_token_is_like_any_unknown_one(world: World) -> None:
    assert "not one of this server's" in refusal(identity(world), f"Bearer {signed()}").reason


def test_keys_that_cannot_be_had_are_no_fault_of_who_asks(world: World, tmp_path: Path) -> None:
    settings = {"jwt_issuer": ISSUER, "jwt_audience": (AUDIENCE,), "jwt_keys": str(tmp_path / "k")}
    with pytest.raises(KeysUnavailable):
        identity(world, **settings).caller_of(f"Bearer {signed()}")
    with pytest.raises(InvalidInput):
        identity(world, jwt_issuer=ISSUER)


def test_a_challenge_says_what_is_wrong_and_who_may_sign(
    trusting: tuple[World, Authenticator], opener: Opener
) -> None:
    plain, (_, knows) = identity(opener(name="two")), trusting
    missing = Unidentified("a token is needed", is_given=False)
    assert plain.challenge(KNOWLEDGE, missing) == 'Bearer realm="minutebook"'
    wrong = Unidentified('over "é"\n')
    told = knows.challenge(KNOWLEDGE, wrong)
    assert told == (
        'Bearer realm="minutebook", error="invalid_token", error_description="over \'?\'\'", '
        "resource_metadata="
        '"https://memory.example.org/.well-known/oauth-protected-resource/mcp/knowledge"'
    )


def test_each_path_tells_who_may_sign_tokens_for_it(trusting: tuple[World, Authenticator]) -> None:
    world, knows = trusting
    app = Starlette(routes=knows.routes(["/mcp", KNOWLEDGE]))

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.get(f"/.well-known/oauth-protected-resource{KNOWLEDGE}")

    told = asyncio.run(ask()).json()
    assert told["resource"] == f"https://memory.example.org{KNOWLEDGE}"
    assert told["authorization_servers"] == [ISSUER]
    assert told["bearer_methods_supported"] == ["header"]
    assert identity(world).routes([KNOWLEDGE]) == []


def test_a_session_belongs_to_who_stays_the_same_while_secrets_are_renewed(
    trusting: tuple[World, Authenticator],
) -> None:
    world, knows = trusting
    one, two = (world.app.tokens.create(OWNER, GRANT) for _ in range(2))
    first = knows.caller_of(f"Bearer {one.secret}")
    rotated = world.app.tokens.rotate(OWNER, one.token.id, None)
    again = knows.caller_of(f"Bearer {rotated.secret}")
    other = knows.caller_of(f"Bearer {two.secret}")
    ana = [knows.caller_of(f"Bearer {signed(jti=jti)}") for jti in ("1", "2")]
    named_ci = knows.caller_of(f"Bearer {signed(sub='ci')}")
    owner = settings_with().caller()
    assert first.principal == again.principal
    assert ana[0].principal == ana[1].principal
    everyone = [first, other, ana[0], named_ci, owner]
    assert len({each.principal for each in everyone}) == len(everyone)
    assert user_of(first).access_token.client_id == first.principal
    assert one.secret not in repr(user_of(first).access_token)


def test_signed_tokens_can_be_revoked_before_they_end(
    trusting: tuple[World, Authenticator],
) -> None:
    world, knows = trusting
    world.app.tokens.revoke_signed(OWNER, "7", is_id=True)
    assert "revoked" in refusal(knows, f"Bearer {signed(jti='7')}").reason
    assert knows.caller_of(f"Bearer {signed(jti='8')}").name == "ana"
    now = world.clock.now.timestamp()
    earlier, later = signed(iat=now - 3600), signed(iat=min(now + 60, time.time()))
    noted = world.app.tokens.revoke_signed(OWNER, "ana")
    assert "revoked" in refusal(knows, f"Bearer {earlier}").reason
    assert "revoked" in refusal(knows, f"Bearer {signed(iat=None)}").reason
    assert knows.caller_of(f"Bearer {later}").name == "ana"
    assert knows.caller_of(f"Bearer {signed(sub='bo', iat=now - 3600)}").name == "bo"
    assert "Revoked" in {each.outcome for each in world.entries(noted.id, SYSTEM_ORGANIZATION)}
    assert not is_live(noted, world.clock.now)


def test_without_an_issuer_no_signed_tokens_are_revoked(world: World) -> None:
    with pytest.raises(InvalidInput, match="jwt_issuer"):
        world.app.tokens.revoke_signed(OWNER, "ana")
    assert not world.app.tokens.is_shared()
