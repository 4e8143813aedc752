"""Authentication over HTTP: from the Authorization header to a caller, or a refusal with its reason."""

from collections.abc import Iterable
from typing import Protocol

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.routing import Route

from minutebook.config import Settings
from minutebook.feature import entries_of
from minutebook.features.http.settings import HttpSettings
from minutebook.memory.access.tokens import PREFIX, Tokens
from minutebook.record.caller import Caller
from minutebook.record.errors import Unidentified
from minutebook.record.reason import Reason
from minutebook.serve.dispatch import OpenApp

_SCHEME = "bearer"
_LONGEST = 16 * 1024


class TokenIssuer(Protocol):
    """An issuer of signed tokens that authenticate callers; `name` is its `iss` claim."""

    name: str

    def identify(self, shown: str, tokens: Tokens) -> Caller:
        """Return the caller of a token. Raises Unidentified, audited, KeysUnavailable."""


class Authenticator:
    """Finds callers by their Authorization header. Raises InvalidInput if settings do not fit together."""

    def __init__(self, settings: Settings, open_app: OpenApp) -> None:
        self._settings = settings
        self._open_app = open_app
        issuers = (make(settings) for make in entries_of("http.issuer"))
        self.issuer: TokenIssuer | None = next((each for each in issuers if each), None)

    def is_required(self) -> bool:
        """Tell whether a token is required, since others than the owner may call.

        With a public URL it is, also before the first token: requests through a proxy come from this machine.
        """
        return (
            self._settings.of(HttpSettings).public_url is not None
            or self._open_app().tokens.is_shared()
        )

    def caller_of(self, authorization: str | None) -> Caller:
        """Return the caller that the header authenticates; without one the owner, if there are no tokens.

        Reads the store and, now and then, the issuer's keys, so call it in a thread. Raises
        Unidentified, and audits it, if the header is missing, malformed, unknown, revoked or expired,
        KeysUnavailable if the issuer's keys cannot be fetched.
        """
        if authorization is None:
            if self.is_required():
                raise Unidentified("a token is needed: Authorization: Bearer …", is_given=False)
            return self._settings.caller()
        tokens = self._open_app().tokens
        scheme, _, shown = authorization.strip().partition(" ")
        shown = shown.strip()
        is_fitting = 0 < len(shown) <= _LONGEST and shown.isascii()
        if scheme.lower() != _SCHEME or not is_fitting:
            raise tokens.audited_refusal(
                "Malformed", Reason("the header must be: Authorization: Bearer TOKEN")
            )
        if shown.startswith(PREFIX) or self.issuer is None:
            return tokens.caller_of(shown)
        return self.issuer.identify(shown, tokens)

    def challenge(self, path: str, error: Unidentified) -> str:
        """Return the WWW-Authenticate header (RFC 6750, RFC 9728) for a refusal at a path."""
        parts = ['realm="minutebook"']
        if error.is_given:
            parts += ['error="invalid_token"', f'error_description="{_quotable(error.reason)}"']
        if (resource := self._resource(path)) is not None:
            parts.append(f'resource_metadata="{build_resource_metadata_url(resource)}"')
        return f"Bearer {', '.join(parts)}"

    def routes(self, paths: Iterable[str]) -> list[Route]:
        """Return the routes of the protected resource metadata (RFC 9728); none without an issuer."""
        return [
            route
            for path in paths
            if self.issuer is not None and (resource := self._resource(path)) is not None
            for route in create_protected_resource_routes(
                resource, [AnyHttpUrl(self.issuer.name)], resource_name="Minutebook"
            )
        ]

    def _resource(self, path: str) -> AnyHttpUrl | None:
        """Return the URL of the resource at a path as clients know it; None without an issuer."""
        public_url = self._settings.of(HttpSettings).public_url
        if self.issuer is None or public_url is None:
            return None
        return AnyHttpUrl(public_url.rstrip("/") + path)


def user_of(caller: Caller) -> AuthenticatedUser:
    """Return the caller as the SDK's user, so that nobody else can continue their session."""
    return AuthenticatedUser(AccessToken(token="", client_id=caller.principal, scopes=[]))


def _quotable(text: str) -> str:
    """Return a text that can be quoted in a header: ASCII without quotes."""
    plain = text.encode("ascii", "replace").decode()
    return "".join(c if c.isprintable() and c not in '"\\' else "'" for c in plain)
