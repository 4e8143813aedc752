"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="sign_in",
    needs=("pages",),
    on_open=".settings:trust_issuer",
    settings=".settings:SignInSettings",
    issuer=".signed_tokens:open_issuer",
    pages=".way_in:PAGES",
)
