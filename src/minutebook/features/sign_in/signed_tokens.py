"""Signed tokens (JWT) of an authorization server, checked against its public keys."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import jwt

from minutebook.config import Settings
from minutebook.features.sign_in.published import Published, fetch, is_protected
from minutebook.features.sign_in.settings import SignInSettings
from minutebook.memory.access.tokens import Tokens
from minutebook.record.caller import SIGNED, Caller
from minutebook.record.errors import InvalidInput, KeysUnavailable, Unidentified
from minutebook.record.reason import cause_of
from minutebook.record.records import DEFAULT_ORGANIZATION, Role
from minutebook.record.rights.grants import Grant, caller_with, check_grant

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""The algorithms of signatures that are accepted: no shared secrets, and not `none`."""

ROLE, ORGANIZATION = "minutebook_role", "minutebook_organization"
REPOSITORIES, USER = "minutebook_repositories", "minutebook_user"
"""The claims with the grant of a token's bearer, beside `sub`, their name."""

LEEWAY = 30.0
"""Seconds by which the issuer's clock may differ from ours."""

_ASYMMETRIC = frozenset({"RSA", "EC", "OKP"})


class IssuerKeys:
    """The cached public keys of an issuer.

    `read` returns them as a JSON Web Key Set (RFC 7517) or raises KeysUnavailable; `now` is a monotonic clock.
    """

    def __init__(
        self, read: Callable[[], bytes], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._published = Published("the keys for signed tokens", lambda: _parsed(read()), now)

    def find(self, name: str | None) -> jwt.PyJWK | None:
        """Return the key with a name (`kid`), for None the only key; None if there is none.

        Reads the keys again if they are old or have no such key. Raises KeysUnavailable if they cannot be read.
        """
        return _pick(self._published.get(lambda known: _pick(known, name) is not None), name)


def _pick(known: Sequence[jwt.PyJWK], name: str | None) -> jwt.PyJWK | None:
    if name is None:
        return known[0] if len(known) == 1 else None
    return next((key for key in known if key.key_id == name), None)


class Issuer:
    """An issuer of signed tokens for some audience: checks them, and returns their callers."""

    def __init__(self, name: str, audience: tuple[str, ...], keys: IssuerKeys) -> None:
        self.name = name
        self._audience = audience
        self._keys = keys

    def caller_of(self, token: str) -> Caller:
        """Return the caller that a signed token authenticates.

        Raises Unidentified if the token is not valid, KeysUnavailable if the keys cannot be read.
        """
        return caller_by(self.own_claims_of(token))

    def identify(self, shown: str, tokens: Tokens) -> Caller:
        """Return the caller of a token. Raises Unidentified, audited, KeysUnavailable."""
        with audited(tokens):
            claims = self.own_claims_of(shown)
            caller = caller_by(claims)
        issued_token_of_claims(claims).check(tokens)
        return caller

    def own_claims_of(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token made for us. Raises as `caller_of` does."""
        return self.claims_of(token, self._audience)

    def claims_of(self, token: str, audience: tuple[str, ...], *required: str) -> Mapping[str, Any]:
        """Return the claims of a token made for one of an audience; those of `required` must be among them.

        Raises Unidentified if the token is not valid, KeysUnavailable if the keys cannot be read.
        """
        try:
            key = self._keys.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise Unidentified("the token is signed with a key that its issuer does not show")
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=audience,
                issuer=self.name,
                leeway=LEEWAY,
                options={
                    "require": ["exp", "iss", "aud", "sub", *required],
                    "enforce_minimum_key_length": True,
                },
            )
        except (jwt.PyJWTError, RecursionError) as error:
            raise Unidentified("the token does not hold: {error}", error=error) from error


def caller_by(claims: Mapping[str, Any]) -> Caller:
    """Return the caller of verified claims. Raises Unidentified if their grant is not valid."""
    grant = _grant(claims)
    try:
        check_grant(grant)
    except InvalidInput as error:
        raise Unidentified("the token's {error}", error=error) from error
    return caller_with(grant, f"{SIGNED}{claims.get('jti', '')}"[:100])


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The key by which a signed token can be revoked: its name, its id if it has one, and when it was issued."""

    subject: str
    id: str | None
    at: datetime | None

    def check(self, tokens: Tokens) -> None:
        """Raise Unidentified, audited, if the token was revoked."""
        tokens.check_signed(self.subject, self.id, self.at)


@contextmanager
def audited(tokens: Tokens) -> Iterator[None]:
    """Audit an Unidentified error within this block, which checks a signed token."""
    try:
        yield
    except Unidentified as error:
        outcome = type(error.__cause__ or error).__name__
        raise tokens.audited_refusal(outcome, error.reason) from error


def issued_token_of_claims(claims: Mapping[str, Any]) -> IssuedToken:
    """Return the key by which the token with these verified claims can be revoked."""
    id, at = claims.get("jti"), claims.get("iat")
    return IssuedToken(
        str(claims["sub"]),
        None if id is None else str(id),
        datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else None,
    )


def issued_token(token: str) -> IssuedToken:
    """Return the key by which a token can be revoked; it must have been verified before."""
    return issued_token_of_claims(jwt.decode(token, options={"verify_signature": False}))


def open_issuer(settings: Settings) -> Issuer | None:
    """Return the issuer that the settings name, None if they name none.

    Raises InvalidInput if its settings are incomplete, or the URL of its keys is not https.
    """
    own = settings.of(SignInSettings)
    if own.jwt_issuer is None:
        return None
    if not own.jwt_audience:
        raise InvalidInput("jwt_audience", "must be set with jwt_issuer: for whom tokens are made")
    if own.jwt_keys is None:
        raise InvalidInput("jwt_keys", "must be set with jwt_issuer: its keys, a URL or a file")
    if is_protected(own.jwt_keys):
        read = partial(fetch, own.jwt_keys, "jwt_keys")
    elif own.jwt_keys.startswith("http:"):
        raise InvalidInput("jwt_keys", "must be an https URL: who changes it on its way, comes in")
    else:
        read = partial(_from_file, Path(own.jwt_keys))
    return Issuer(own.jwt_issuer, own.jwt_audience, IssuerKeys(read))


def _grant(claims: Mapping[str, Any]) -> Grant:
    """Return the grant in claims; missing claims grant the least."""
    role = claims.get(ROLE, Role.VIEWER)
    if role not in list(Role):
        raise Unidentified(
            "the claim {role} must be one of {names}", role=ROLE, names=", ".join(Role)
        )
    repositories = claims.get(REPOSITORIES)
    if isinstance(repositories, str):
        repositories = repositories.split()
    if REPOSITORIES in claims and not _are_texts(repositories):
        raise Unidentified("the claim {name} must be a list of names", name=REPOSITORIES)
    name = _text(claims, "sub", "")
    return Grant(
        name=name,
        role=Role(role),
        organization=_text(claims, ORGANIZATION, DEFAULT_ORGANIZATION),
        repositories=None if repositories is None else tuple(repositories),
        user=_text(claims, USER, name),
    )


def _text(claims: Mapping[str, Any], claim: str, default: str) -> str:
    value = claims.get(claim, default)
    if not isinstance(value, str):
        raise Unidentified("the claim {name} must be a text", name=claim)
    return value


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _parsed(data: bytes) -> list[jwt.PyJWK]:
    """Return the keys of a JSON Web Key Set that check signatures of ALGORITHMS.

    Raises KeysUnavailable if the set cannot be read or holds none.
    """
    remedy = "jwt_keys must lead to a JSON Web Key Set"
    try:
        document = json.loads(data)
        keys = jwt.PyJWKSet(document["keys"]).keys
    except (ValueError, RecursionError, TypeError, KeyError, jwt.PyJWTError) as error:
        raise KeysUnavailable("they cannot be understood: {error}", remedy, error=error) from error
    fitting = [
        key
        for key in keys
        if key.key_type in _ASYMMETRIC
        and key.algorithm_name in ALGORITHMS
        and key.public_key_use in (None, "sig")
    ]
    if not fitting:
        raise KeysUnavailable("none of them checks signatures of a kind that is taken", remedy)
    return fitting


def _from_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KeysUnavailable(
            "{path}: {cause}", "set jwt_keys to a file", path=path, cause=cause_of(error)
        ) from error
