"""What signing in at a provider does to a store."""

from minutebook.app import App
from minutebook.features.sign_in.settings import SignInSettings


def trust_issuer(app: App) -> None:
    """Take the store for shared if settings name an issuer whose signed tokens let callers in."""
    if app.settings.of(SignInSettings).trusts_issuer:
        app.tokens.trust_issuer()
