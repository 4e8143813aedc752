"""Whom an authorization server lets in: its signed tokens (JWT), checked against its public keys."""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

from minutebook.config import Settings
from minutebook.domain.caller import SIGNED, Caller
from minutebook.domain.errors import InvalidInput, KeysUnavailable, Unidentified
from minutebook.domain.grants import Grant, caller_with, check_grant
from minutebook.domain.records import DEFAULT_ORGANIZATION, Role

log = logging.getLogger(__name__)

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""What may have signed a token: never a secret that both sides know, never nothing."""

ROLE, ORGANIZATION = "minutebook_role", "minutebook_organization"
REPOSITORIES, USER = "minutebook_repositories", "minutebook_user"
"""The claims that say whom a token makes of its bearer, beside `sub`, which names them."""

LEEWAY = 30.0
"""Seconds by which the issuer's clock may differ from ours."""

KEYS_LAST = 600.0
"""Seconds after which the keys are read again."""

READ_AGAIN_AFTER = 30.0
"""Seconds between two readings of the keys, whatever key a token names."""

KEYS_OUTLIVE = 86_400.0
"""Seconds for which known keys are used while they cannot be read again."""

_LONGEST_WAIT = 5.0
_MOST_BYTES = 256 * 1024
_ASYMMETRIC = frozenset({"RSA", "EC", "OKP"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Keys:
    """The public keys of an issuer, kept for a while.

    `read` gives them as a JSON Web Key Set (RFC 7517) or raises KeysUnavailable; `now` gives seconds
    that only grow.
    """

    def __init__(
        self, read: Callable[[], bytes], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._now = now
        self._lock = threading.Lock()
        self._known: list[jwt.PyJWK] = []
        self._read_at = self._tried_at = -KEYS_OUTLIVE
        self._failure: KeysUnavailable | None = None

    def find(self, name: str | None) -> jwt.PyJWK | None:
        """Return the key of that name (`kid`), the only key if none is named, or None.

        Fetches the keys again when they are old or that one is not known. Raises KeysUnavailable if
        they cannot be fetched.
        """
        found = self._pick(name)
        if found is None or self._now() - self._read_at > KEYS_LAST:
            self._refresh()
            found = self._pick(name)
        return found

    def _pick(self, name: str | None) -> jwt.PyJWK | None:
        known = self._known
        if name is None:
            return known[0] if len(known) == 1 else None
        return next((key for key in known if key.key_id == name), None)

    def _refresh(self) -> None:
        # Who shows an invented key must not keep those with a known one waiting for a slow issuer.
        if not self._lock.acquire(blocking=not self._known):
            return
        try:
            now = self._now()
            if now - self._tried_at >= READ_AGAIN_AFTER:
                self._tried_at = now
                try:
                    self._known, self._read_at, self._failure = _parsed(self._read()), now, None
                except KeysUnavailable as error:
                    log.warning("the keys for signed tokens: %s; %s", error.reason, error.remedy)
                    self._failure = error
            if self._failure is not None and now - self._read_at >= KEYS_OUTLIVE:
                self._known = []
                raise self._failure
        finally:
            self._lock.release()


class Issuer:
    """Checks signed tokens, and gives the caller that one makes."""

    def __init__(self, name: str, audience: tuple[str, ...], keys: Keys) -> None:
        self.name = name
        self._audience = audience
        self._keys = keys

    def caller_of(self, token: str) -> Caller:
        """Return the caller that a signed token authenticates.

        Raises Unidentified if the token does not hold, KeysUnavailable if the keys cannot be read.
        """
        claims = self._claims(token)
        grant = _grant(claims)
        try:
            check_grant(grant)
        except InvalidInput as error:
            raise Unidentified(f"the token's {error}") from error
        return caller_with(grant, f"{SIGNED}{claims.get('jti', '')}"[:100])

    def _claims(self, token: str) -> Mapping[str, Any]:
        try:
            key = self._keys.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise Unidentified("the token is signed with a key that its issuer does not show")
            return jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=self.name,
                leeway=LEEWAY,
                options={
                    "require": ["exp", "iss", "aud", "sub"],
                    "enforce_minimum_key_length": True,
                },
            )
        except (jwt.PyJWTError, RecursionError) as error:
            raise Unidentified(f"the token does not hold: {error}") from error


def open_issuer(settings: Settings) -> Issuer | None:
    """Return what checks signed tokens, None if no issuer is set.

    Raises InvalidInput if the issuer's settings are incomplete or its keys come unprotected.
    """
    if settings.jwt_issuer is None:
        return None
    if not settings.jwt_audience:
        raise InvalidInput("jwt_audience", "must be set with jwt_issuer: for whom tokens are made")
    if settings.jwt_keys is None:
        raise InvalidInput("jwt_keys", "must be set with jwt_issuer: its keys, a URL or a file")
    url = urlsplit(settings.jwt_keys)
    if url.scheme == "https" or (url.scheme == "http" and url.hostname in _LOOPBACK):
        read = partial(_from_url, settings.jwt_keys)
    elif url.scheme == "http":
        raise InvalidInput("jwt_keys", "must be an https URL: who changes it on its way, comes in")
    else:
        read = partial(_from_file, Path(settings.jwt_keys))
    return Issuer(settings.jwt_issuer, settings.jwt_audience, Keys(read))


def _grant(claims: Mapping[str, Any]) -> Grant:
    """Read whom the claims make of the bearer; what they leave out grants least."""
    role = claims.get(ROLE, Role.VIEWER)
    if role not in list(Role):
        raise Unidentified(f"the claim {ROLE} must be one of {', '.join(Role)}")
    named = claims.get(REPOSITORIES)
    if isinstance(named, str):
        named = named.split()
    if REPOSITORIES in claims and not _are_texts(named):
        raise Unidentified(f"the claim {REPOSITORIES} must be a list of names")
    name = _text(claims, "sub", "")
    return Grant(
        name=name,
        role=Role(role),
        organization=_text(claims, ORGANIZATION, DEFAULT_ORGANIZATION),
        repositories=None if named is None else tuple(named),
        user=_text(claims, USER, name),
    )


def _text(claims: Mapping[str, Any], claim: str, otherwise: str) -> str:
    value = claims.get(claim, otherwise)
    if not isinstance(value, str):
        raise Unidentified(f"the claim {claim} must be a text")
    return value


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _parsed(data: bytes) -> list[jwt.PyJWK]:
    """Return the keys of a key set that are made for checking signatures.

    Raises KeysUnavailable if the set cannot be read or holds none.
    """
    remedy = "jwt_keys must lead to a JSON Web Key Set"
    try:
        document = json.loads(data)
        keys = jwt.PyJWKSet(document["keys"]).keys
    except (ValueError, RecursionError, TypeError, KeyError, jwt.PyJWTError) as error:
        raise KeysUnavailable(f"they cannot be understood: {error}", remedy) from error
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
        raise KeysUnavailable(f"{path}: {error.strerror}", "set jwt_keys to a file") from error


def _from_url(url: str) -> bytes:
    """Fetch the keys: no redirects, no more bytes and no more time than keys need."""
    import httpx2

    ends, data = time.monotonic() + _LONGEST_WAIT, b""
    try:
        with httpx2.stream("GET", url, timeout=_LONGEST_WAIT) as answer:
            answer.raise_for_status()
            for part in answer.iter_bytes():
                data += part
                if len(data) > _MOST_BYTES or time.monotonic() > ends:
                    raise KeysUnavailable(f"{url}: too long or too slow", "look at that server")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise KeysUnavailable(f"{url}: {error}", "see that jwt_keys is right and up") from error
    return data
