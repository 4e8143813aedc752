"""The caller over HTTP: from the Authorization header to a caller, or to a refusal with its reason."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl
from starlette.routing import Route

from minutebook.config import Settings
from minutebook.domain.caller import Caller
from minutebook.domain.errors import Unidentified
from minutebook.domain.reason import Reason
from minutebook.features.http.settings import HttpSettings
from minutebook.features.pages.frame.host import Person
from minutebook.features.sign_in.openid import open_provider
from minutebook.features.sign_in.signed_tokens import (
    IssuedToken,
    caller_by,
    issued_by,
    issued_of_known,
    open_issuer,
)
from minutebook.server.dispatch import OpenApp
from minutebook.services.access.tokens import PREFIX

_SCHEME = "bearer"
_LONGEST = 16 * 1024


class Authenticator:
    """Finds callers by their Authorization header. Raises InvalidInput if settings do not fit together."""

    def __init__(self, settings: Settings, open_app: OpenApp) -> None:
        self._settings = settings
        self._open_app = open_app
        self._issuer = open_issuer(settings)
        self.provider = open_provider(settings, self._issuer)

    def is_required(self) -> bool:
        """Tell whether a token is required, since others than the owner may call.

        A public URL says so before the first token: what a proxy passes on comes from this machine.
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
            raise tokens.refused(
                "Malformed", Reason("the header must be: Authorization: Bearer TOKEN")
            )
        if shown.startswith(PREFIX) or self._issuer is None:
            return tokens.caller_of(shown)
        with self._audited_refusals():
            claims = self._issuer.own_claims_of(shown)
            caller = caller_by(claims)
        self._check_issued(issued_by(claims))
        return caller

    def person_of(self, code: str, verifier: str, nonce: str, issuer: str | None) -> Person:
        """Return the person that signed in at the provider, by the code in its answer.

        It waits for the provider, so call it in a thread of those few that may. Raises ProviderError,
        Unidentified, which it audits, if the ID token does not hold, KeysUnavailable.
        """
        assert self.provider is not None
        self.provider.check_issuer(issuer)
        with self._audited_refusals():
            person = self.provider.redeem(code, verifier, nonce)
        self.check_person(person.id_token)
        return person

    def check_person(self, id_token: str) -> None:
        """Raise Unidentified, audited, if the ID token by which somebody signed in was revoked since."""
        self._check_issued(issued_of_known(id_token))

    def _check_issued(self, issued: IssuedToken) -> None:
        self._open_app().tokens.check_signed(issued.subject, issued.id, issued.at)

    @contextmanager
    def _audited_refusals(self) -> Iterator[None]:
        """Enter in the trail that a signed token which is checked inside let nobody in."""
        try:
            yield
        except Unidentified as error:
            outcome = type(error.__cause__ or error).__name__
            raise self._open_app().tokens.refused(outcome, error.reason) from error

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
            if self._issuer is not None and (resource := self._resource(path)) is not None
            for route in create_protected_resource_routes(
                resource, [AnyHttpUrl(self._issuer.name)], resource_name="Minutebook"
            )
        ]

    def _resource(self, path: str) -> AnyHttpUrl | None:
        """Return the URL of the resource at a path as clients know it; None without an issuer."""
        public_url = self._settings.of(HttpSettings).public_url
        if self._issuer is None or public_url is None:
            return None
        return AnyHttpUrl(public_url.rstrip("/") + path)


def user_of(caller: Caller) -> AuthenticatedUser:
    """Return the caller as the SDK's user, so that nobody else can continue their session."""
    return AuthenticatedUser(AccessToken(token="", client_id=caller.principal, scopes=[]))


def _quotable(text: str) -> str:
    """Return a text that a header may quote: ASCII without quotes."""
    plain = text.encode("ascii", "replace").decode()
    return "".join(c if c.isprintable() and c not in '"\\' else "'" for c in plain)
