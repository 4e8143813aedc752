"""Sign-in of people at an OpenID provider: the authorization code flow with PKCE, from our side.

OpenID Connect Core 1.0 (section 3.1), Discovery 1.0, RP-Initiated Logout 1.0; RFC 7636 (PKCE), RFC 9207
(the issuer in the answer). The provider is the issuer of signed tokens, and its keys are those.
"""

import base64
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import jwt

from minutebook.config import Settings
from minutebook.features.pages.frame.host import public_url_of
from minutebook.features.sign_in.faults import ProviderError, ProviderFault
from minutebook.features.sign_in.published import Published, exchange, fetch, is_protected
from minutebook.features.sign_in.settings import SignInSettings
from minutebook.features.sign_in.signed_tokens import LEEWAY, Issuer, caller_by
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, KeysUnavailable, Unidentified

log = logging.getLogger(__name__)

DISCOVERY = "/.well-known/openid-configuration"

CALLBACK = "/signin/callback"
"""The path to which a provider leads browsers back."""

_LONGEST_CODE = 4096
_OUR_FAULTS = frozenset({"invalid_client", "unauthorized_client", "invalid_scope"})


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The URLs and abilities of a provider, from its configuration.

    `names_issuer` if its answers have the parameter `iss`; `takes_basic` if it accepts a client's secret in the
    Authorization header.
    """

    authorization: str
    token: str
    end_session: str | None
    names_issuer: bool
    takes_basic: bool


@dataclass(frozen=True, slots=True)
class Person:
    """A person signed in at a provider: their caller, the ID token, and the seconds for which it is still valid."""

    caller: Caller
    lasts: float
    id_token: str = field(repr=False)


class Provider:
    """Sends people to a provider, and gets their identity from it; `home` is this server's public URL."""

    def __init__(self, issuer: Issuer, client: str, secret: str | None, home: str) -> None:
        self.name = urlsplit(issuer.name).hostname or issuer.name
        self._issuer = issuer
        self._client = client
        self._secret = secret
        self._home = home.rstrip("/")
        read = partial(_read_endpoints, issuer.name)
        self._endpoints = Published("the configuration of the OpenID provider", read)

    def authorization_url(self, state: str, nonce: str, challenge: str) -> str:
        """Return the URL at which the person signs in. Raises ProviderError if it cannot be read."""
        parameters = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._home + CALLBACK,
            "scope": "openid",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(self._find_endpoints().authorization, parameters)

    def check_issuer(self, named: str | None) -> None:
        """Raise ProviderError if an answer names another issuer, or none although this one names itself."""
        if named is None and self._find_endpoints().names_issuer:
            raise ProviderError(ProviderFault.MIXED_UP, "the answer names no issuer")
        if named is not None and named != self._issuer.name:
            raise ProviderError(ProviderFault.MIXED_UP, f"the answer is of {named[:200]}")

    def redeem(self, code: str, verifier: str, nonce: str) -> Person:
        """Exchange a code for an ID token, and return its person.

        Raises ProviderError if the provider sends no ID token, Unidentified if that is not valid,
        KeysUnavailable if the keys cannot be read.
        """
        token = self._id_token(code, verifier)
        claims = self._claims(token)
        if claims["nonce"] != nonce:
            raise Unidentified("the ID token was made for another sign-in (nonce)")
        lasts = int(claims["exp"]) + LEEWAY - time.time()
        return Person(caller_by(claims), max(0.0, lasts), token)

    def sign_out_url(self, token: str) -> str | None:
        """Return the URL at which the browser ends the provider's session; None if the provider has none."""
        try:
            end_session = self._find_endpoints().end_session
        except ProviderError:
            return None
        if end_session is None:
            return None
        parameters = {
            "client_id": self._client,
            "id_token_hint": token,
            "post_logout_redirect_uri": f"{self._home}/signin",
        }
        return _with_query(end_session, parameters)

    def _find_endpoints(self) -> Endpoints:
        try:
            return self._endpoints.get()
        except KeysUnavailable as error:
            raise ProviderError(ProviderFault.DOWN, str(error)) from error

    def _claims(self, token: str) -> Mapping[str, Any]:
        try:
            claims = self._issuer.claims_of(token, (self._client,), "iat", "nonce")
        except Unidentified as error:
            if isinstance(error.__cause__, jwt.ExpiredSignatureError | jwt.ImmatureSignatureError):
                reason = "{cause}: the provider's clock and this server's are not the same"
                raise Unidentified(reason, cause=error.reason) from error.__cause__
            raise
        audience, party = claims["aud"], claims.get("azp")
        if party != self._client and (party is not None or not _is_alone(audience)):
            raise Unidentified("the ID token was made for another client (azp)")
        if not isinstance(claims["nonce"], str):
            raise Unidentified("the ID token's nonce is no text")
        return claims

    def _id_token(self, code: str, verifier: str) -> str:
        """Exchange a code for an ID token."""
        if not 0 < len(code) <= _LONGEST_CODE:
            raise ProviderError(ProviderFault.CODE, "its answer holds no code")
        endpoints = self._find_endpoints()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._home + CALLBACK,
            "code_verifier": verifier,
            "client_id": self._client,
        }
        headers = {"Accept": "application/json"}
        if self._secret is not None and endpoints.takes_basic:
            pair = f"{quote(self._client, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif self._secret is not None:
            form["client_secret"] = self._secret
        try:
            status, body = exchange("POST", endpoints.token, "jwt_issuer", form, headers)
        except KeysUnavailable as error:
            log.warning("the OpenID provider: %s", error)
            raise ProviderError(ProviderFault.DOWN, str(error)) from error
        answer = _json_object(body)
        if status == 200 and isinstance(token := answer.get("id_token"), str):
            return token
        raise _fault(status, answer)


def open_provider(settings: Settings, issuer: Issuer | None) -> Provider | None:
    """Return the provider at which people sign in, None if the settings name none.

    Raises InvalidInput if settings are missing, or a URL is not https.
    """
    own, public_url = settings.of(SignInSettings), public_url_of(settings)
    if own.oidc_client is None:
        return None
    if issuer is None:
        raise InvalidInput("jwt_issuer", "must be set with oidc_client: the provider's own URL")
    if not is_protected(issuer.name):
        raise InvalidInput("jwt_issuer", "must be an https URL where people sign in (oidc_client)")
    if public_url is None or not is_protected(public_url):
        remedy = "must be set with oidc_client: the https URL that the provider leads back to"
        raise InvalidInput("public_url", remedy)
    return Provider(issuer, own.oidc_client, own.oidc_secret, public_url)


def _read_endpoints(issuer: str) -> Endpoints:
    """Fetch a provider's configuration. Raises KeysUnavailable if it is not one of that issuer."""
    url = issuer.rstrip("/") + DISCOVERY
    document = _json_object(fetch(url, "jwt_issuer"))
    if document.get("issuer") != issuer:
        # RFC 8414, 3.3: else the server at this address could pass for another issuer.
        remedy = "jwt_issuer must be written as the provider writes it, a slash at its end included"
        raise KeysUnavailable(
            "{url}: it is of the issuer {issuer!r}", remedy, url=url, issuer=document.get("issuer")
        )
    names = ("authorization_endpoint", "token_endpoint", "end_session_endpoint")
    authorization, token, end_session = (document.get(name) for name in names)
    for name, address in zip(names, (authorization, token, end_session), strict=True):
        if not _is_address(address) and (name != names[-1] or address is not None):
            remedy = "jwt_issuer must lead to a provider"
            raise KeysUnavailable("{url}: {name} is no https URL", remedy, url=url, name=name)
    methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    return Endpoints(
        authorization=str(authorization),
        token=str(token),
        end_session=end_session,
        names_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
    )


def _fault(status: int, answer: Mapping[str, Any]) -> ProviderError:
    """Return the error for an answer of the token endpoint without an ID token."""
    error = str(answer.get("error", ""))[:100]
    if error == "invalid_grant":
        return ProviderError(ProviderFault.CODE, "the provider knows no such code, or no longer")
    fault = ProviderFault.SETTINGS if error in _OUR_FAULTS else ProviderFault.DOWN
    detail = f"its token endpoint answers {status} {error or 'and no ID token'}"
    log.warning("the OpenID provider: %s", detail)
    return ProviderError(fault, detail)


def _json_object(data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_address(value: object) -> bool:
    try:
        return isinstance(value, str) and is_protected(value) and bool(urlsplit(value).hostname)
    except ValueError:
        return False


def _is_alone(audience: object) -> bool:
    return isinstance(audience, str) or (isinstance(audience, list) and len(audience) == 1)


def _with_query(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(query)}"
