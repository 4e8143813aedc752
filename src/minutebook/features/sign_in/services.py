"""The effect of signing in at a provider on a store."""

from minutebook.app import App
from minutebook.features.sign_in.settings import SignInSettings


def trust_issuer(app: App) -> None:
    """Take the store for shared if settings name an issuer of signed tokens for callers."""
    if app.settings.of(SignInSettings).trusts_issuer:
        app.tokens.trust_issuer()
