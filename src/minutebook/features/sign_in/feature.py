"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="sign_in",
    needs=("http", "install"),
    on_open=".services:trust_issuer",
    settings=".settings:SignInSettings",
)
