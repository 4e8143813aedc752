"""Signed tokens: whom an issuer lets in, and every way in which a token may not hold."""

import base64
import hashlib
import hmac
import json
import threading
from pathlib import Path
from time import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from minutebook.config import settings_with
from minutebook.features.sign_in.published import FRESH, OUTLIVES, READ_AGAIN_AFTER
from minutebook.features.sign_in.signed_tokens import Issuer, IssuerKeys, open_issuer
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, KeysUnavailable, Unidentified
from minutebook.record.records import DEFAULT_ORGANIZATION, SYSTEM_ORGANIZATION, Role
from tests.features.sign_in.issuing import (
    AUDIENCE,
    EC,
    ED,
    ISSUER,
    KEYS,
    OTHER_RSA,
    RSA,
    WEAK_RSA,
    Page,
    key_set,
    served,
    shown,
    signed,
)


class Source:
    """A source of keys that a test changes; it counts the requests. None: it cannot be reached."""

    def __init__(self, body: bytes | None = KEYS) -> None:
        self.body = body
        self.read = 0
        self.now = 1000.0

    def __call__(self) -> bytes:
        self.read += 1
        if self.body is None:
            raise KeysUnavailable("it is down", "start it")
        return self.body

    def keys(self) -> IssuerKeys:
        return IssuerKeys(self, lambda: self.now)


def issuer(source: Source | None = None) -> Issuer:
    return Issuer(ISSUER, (AUDIENCE, "minutebook"), (source or Source()).keys())


def refusal(token: str, source: Source | None = None) -> str:
    with pytest.raises(Unidentified) as refused:
        issuer(source).caller_of(token)
    return refused.value.reason


def test_the_claims_say_who_comes() -> None:
    token = signed(
        jti="7",
        minutebook_role="manager",
        minutebook_organization="acme",
        minutebook_repositories=["api", "web"],
        minutebook_user="anna",
    )
    assert issuer().caller_of(token) == Caller(
        name="ana",
        role=Role.MANAGER,
        organization="acme",
        repositories=frozenset({"api", "web"}),
        user="anna",
        token="jwt:7",
        repository_bound=True,
    )


def test_what_the_claims_leave_out_grants_least() -> None:
    assert issuer().caller_of(signed()) == Caller(
        name="ana",
        role=Role.VIEWER,
        organization=DEFAULT_ORGANIZATION,
        user="ana",
        token="jwt:",
    )


def test_repositories_may_stand_in_one_text() -> None:
    caller = issuer().caller_of(signed(minutebook_repositories="api web"))
    assert caller.repositories == frozenset({"api", "web"})


@pytest.mark.parametrize(
    ("key", "algorithm", "name"), [(RSA, "RS256", "r"), (EC, "ES256", "e"), (ED, "EdDSA", "d")]
)
def test_keys_of_each_kind_sign(key: Any, algorithm: str, name: str) -> None:
    assert issuer().caller_of(signed(key, algorithm, name)).name == "ana"


def test_a_key_that_names_its_algorithm_is_used_with_that_one() -> None:
    source = Source(key_set(shown(RSA, "r", alg="PS384")))
    assert issuer(source).caller_of(signed(RSA, "PS384")).name == "ana"
    assert "alg value is not allowed" in refusal(signed(RSA, "RS256"), source)


@pytest.mark.parametrize("audience", [AUDIENCE, "minutebook", ["else", "minutebook"]])
def test_a_token_is_made_for_one_of_the_audiences(audience: object) -> None:
    assert issuer().caller_of(signed(aud=audience)).name == "ana"


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"exp": 1}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": "soon"}, "Expiration"),
        ({"nbf": 9_999_999_999}, "not yet valid"),
        ({"iat": 9_999_999_999}, "not yet valid"),
        ({"aud": None}, "aud"),
        ({"aud": "https://elsewhere.example.org"}, "Audience"),
        ({"aud": AUDIENCE + "/x"}, "Audience"),
        ({"aud": AUDIENCE[:-1]}, "Audience"),
        ({"iss": None}, "iss"),
        ({"iss": "https://evil.example.org/"}, "issuer"),
        ({"iss": ISSUER.rstrip("/")}, "issuer"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "name"),
        ({"sub": "agent"}, "anybody"),
        ({"sub": 7}, "Subject"),
        ({"minutebook_role": "root"}, "minutebook_role"),
        ({"minutebook_role": ["admin"]}, "minutebook_role"),
        ({"minutebook_organization": SYSTEM_ORGANIZATION}, "organization"),
        ({"minutebook_organization": ""}, "organization"),
        ({"minutebook_organization": ["acme"]}, "minutebook_organization"),
        ({"minutebook_repositories": []}, "repository"),
        ({"minutebook_repositories": ""}, "repository"),
        ({"minutebook_repositories": [7]}, "minutebook_repositories"),
        ({"minutebook_repositories": {"api": 1}}, "minutebook_repositories"),
        ({"minutebook_user": 7}, "minutebook_user"),
    ],
)
def test_a_token_whose_claims_do_not_hold_lets_nobody_in(
    claims: dict[str, object], said: str
) -> None:
    assert said in refusal(signed(**claims))


def test_the_clocks_may_differ_a_little() -> None:
    now = int(time())
    assert issuer().caller_of(signed(exp=now - 10, nbf=now + 20)).name == "ana"
    assert "expired" in refusal(signed(exp=now - 60))


def test_a_token_that_another_key_signed_lets_nobody_in() -> None:
    assert "Signature" in refusal(signed(OTHER_RSA))
    assert "key that its issuer does not show" in refusal(signed(OTHER_RSA, "RS256", "other"))
    assert "key that its issuer does not show" in refusal(signed(RSA, "RS256", None))


def test_no_secret_and_nothing_signs() -> None:
    public = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = {"alg": "HS256", "kid": "r"}
    body = jwt.decode(signed(), options={"verify_signature": False})
    parts = [_encoded(head), _encoded(body)]
    mac = hmac.digest(public, ".".join(parts).encode(), hashlib.sha256)
    for token in (
        ".".join([*parts, base64.urlsafe_b64encode(mac).decode().rstrip("=")]),
        signed(None, "none", "r"),
    ):
        assert "does not hold" in refusal(token)


def test_keys_that_anybody_could_forge_with_are_left_out() -> None:
    secret = {"kty": "oct", "k": base64.urlsafe_b64encode(b"k" * 32).decode(), "kid": "s"}
    token = signed(b"k" * 32, "HS256", "s")
    with pytest.raises(KeysUnavailable, match="none of them"):
        issuer(Source(key_set(secret))).caller_of(token)
    assert "does not show" in refusal(token, Source(key_set(secret, shown(RSA, "r"))))
    for_encryption = key_set(shown(RSA, "r", use="enc"), shown(EC, "e"))
    assert "does not show" in refusal(signed(), Source(for_encryption))
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        weak = signed(WEAK_RSA)
    assert "2048" in refusal(weak, Source(key_set(shown(WEAK_RSA, "r"))))


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda b: f"{b.hex()}.e30.AA"))
def test_what_is_no_token_lets_nobody_in(text: str) -> None:
    refusal(text)


def test_a_token_that_is_nested_without_end_lets_nobody_in() -> None:
    deep = base64.urlsafe_b64encode(b'{"a":' + b"[" * 50_000).decode().rstrip("=")
    refusal(f"{deep}.e30.AA")


def test_keys_are_read_again_when_they_are_old_or_one_is_not_known() -> None:
    source = Source(key_set(shown(RSA, "r")))
    knows = issuer(source)
    for _ in range(5):
        knows.caller_of(signed())
    assert source.read == 1
    source.now += FRESH + 1
    knows.caller_of(signed())
    assert source.read == 2
    source.body = key_set(shown(RSA, "r"), shown(EC, "e"))
    source.now += READ_AGAIN_AFTER
    assert knows.caller_of(signed(EC, "ES256", "e")).name == "ana"
    source.body, source.now = key_set(shown(EC, "e")), source.now + FRESH + 1
    with pytest.raises(Unidentified):
        knows.caller_of(signed())


def test_tokens_that_name_unknown_keys_do_not_make_the_issuer_be_asked_each_time() -> None:
    source = Source()
    knows = issuer(source)
    for at in range(100):
        with pytest.raises(Unidentified):
            knows.caller_of(signed(RSA, "RS256", f"unknown-{at}"))
    assert source.read == 1


def test_known_keys_are_used_for_a_day_while_the_issuer_is_down() -> None:
    source = Source()
    knows = issuer(source)
    knows.caller_of(signed())
    source.body = None
    source.now += OUTLIVES - 1
    assert knows.caller_of(signed()).name == "ana"
    source.now += READ_AGAIN_AFTER
    with pytest.raises(KeysUnavailable, match="down"):
        knows.caller_of(signed())
    source.body, source.now = KEYS, source.now + READ_AGAIN_AFTER
    assert knows.caller_of(signed()).name == "ana"


def test_an_issuer_that_was_never_reached_is_asked_again_after_a_while() -> None:
    source = Source(None)
    knows = issuer(source)
    for _ in range(3):
        with pytest.raises(KeysUnavailable, match="down"):
            knows.caller_of(signed())
    assert source.read == 1
    source.body, source.now = KEYS, source.now + READ_AGAIN_AFTER
    assert knows.caller_of(signed()).name == "ana"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"keys": 7}',
        b'{"keys": []}',
        b'{"keys": [{"kty": "RSA"}]}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_what_is_no_key_set_is_said(body: bytes) -> None:
    with pytest.raises(KeysUnavailable) as refused:
        issuer(Source(body)).caller_of(signed())
    assert "jwt_keys" in refused.value.remedy


def opened(keys: str, **changes: Any) -> Issuer:
    settings = {"jwt_issuer": ISSUER, "jwt_audience": (AUDIENCE,), "jwt_keys": keys}
    found = open_issuer(settings_with(**{**settings, **changes}))
    assert found is not None
    return found


def test_keys_come_from_a_url() -> None:
    with served(Page()) as page:
        knows = opened(page.url)
        assert knows.caller_of(signed()).name == "ana"
        assert knows.caller_of(signed(EC, "ES256", "e")).name == "ana"
        assert page.asked == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("page", "said"),
    [
        (Page(status=500), "500"),
        (Page(status=302, headers={"Location": "http://127.0.0.1:1/"}), "302"),
        (Page(body=b" " * 300_000), "too long"),
        (Page(body=b"<html>"), "understood"),
    ],
)
def test_a_url_without_keys_is_said_with_its_fault(page: Page, said: str) -> None:
    with served(page), pytest.raises(KeysUnavailable, match=said):
        opened(page.url).caller_of(signed())


def test_a_url_that_nobody_answers_is_said() -> None:
    with served(Page()) as page:
        pass
    with pytest.raises(KeysUnavailable, match=r"127\.0\.0\.1"):
        opened(page.url).caller_of(signed())


def test_keys_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a b" / "keys.json"
    with pytest.raises(KeysUnavailable, match="No such file"):
        opened(str(path)).caller_of(signed())
    path.parent.mkdir()
    path.write_bytes(KEYS)
    assert opened(str(path)).caller_of(signed()).name == "ana"


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"jwt_audience": ()}, "jwt_audience"),
        ({"jwt_keys": None}, "jwt_keys"),
        ({"jwt_keys": "http://login.example.org/keys"}, "jwt_keys"),
    ],
)
def test_half_a_setting_is_refused(changes: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        opened("https://login.example.org/keys", **changes)
    assert refused.value.argument == argument


def test_without_an_issuer_nothing_is_checked() -> None:
    assert open_issuer(settings_with()) is None


def _encoded(told: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


def test_who_names_an_unknown_key_waits_for_no_reading_that_another_began() -> None:
    source, begun, goes_on = Source(), threading.Event(), threading.Event()

    def read() -> bytes:
        begun.set()
        assert goes_on.wait(60)
        return source()

    keys = IssuerKeys(read, lambda: source.now)
    goes_on.set()
    assert keys.find("r") is not None
    begun.clear()
    goes_on.clear()
    source.now += READ_AGAIN_AFTER
    first = threading.Thread(target=keys.find, args=["invented"])
    first.start()
    assert begun.wait(60)
    second = threading.Thread(target=keys.find, args=["invented too"])
    second.start()
    second.join(60)
    is_waiting = second.is_alive()
    goes_on.set()
    first.join()
    assert not is_waiting
    assert keys.find("r") is not None


def test_a_claim_of_no_repositories_does_not_stand_for_any() -> None:
    claims = jwt.decode(signed(), options={"verify_signature": False})
    token = jwt.encode(
        claims | {"minutebook_repositories": None}, RSA, "RS256", headers={"kid": "r"}
    )
    assert "minutebook_repositories" in refusal(token)
