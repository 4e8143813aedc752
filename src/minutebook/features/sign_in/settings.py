"""The issuer of signed tokens for callers, and the provider at which people sign in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from minutebook.config import Settings
from minutebook.config.kinds import TEXT, URL, client_setting, path_unless, separated
from minutebook.record.reason import Reason

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, kw_only=True)
class SignInSettings(Settings):
    """The issuer of signed tokens for callers, and the provider at which people sign in."""

    FORMER: ClassVar[tuple[str, ...]] = ("oidc_scopes", "oidc_session")

    jwt_issuer: str | None = client_setting(
        None, URL, "Issuer whose signed tokens (JWT) let callers in over HTTP: their `iss` claim."
    )
    jwt_audience: tuple[str, ...] = client_setting(
        (),
        separated(None, Reason("a list of names")),
        "For whom such tokens must be made, separated by spaces: one of their `aud` claim.",
    )
    jwt_keys: str | None = client_setting(
        None,
        path_unless(lambda value: "://" in value, Reason("an https URL, or a file")),
        "The issuer's public keys (JWKS): an https URL, or a file, which is read again.",
    )
    oidc_client: str | None = client_setting(
        None,
        TEXT,
        "Client id under which jwt_issuer, an OpenID provider, lets people sign in to the web pages; "
        "needs public_url, and PUBLIC_URL/signin/callback among the client's redirect URIs there.",
    )
    oidc_secret: str | None = client_setting(
        None, TEXT, "Its secret there, if any.", is_secret=True
    )

    @property
    def trusts_issuer(self) -> bool:
        """Whether signed tokens authenticate callers."""
        return self.jwt_issuer is not None


def trust_issuer(app: "App") -> None:
    """Treat the store as shared if the settings name an issuer of signed tokens."""
    if app.settings.of(SignInSettings).trusts_issuer:
        app.tokens.trust_issuer()
