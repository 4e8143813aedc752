"""The register of this feature."""

from minutebook.feature import Event, Feature, Http, WebPages

FEATURE = Feature(
    name="sign_in",
    needs=("pages",),
    settings=".settings:SignInSettings",
    pages=WebPages(own=".way_in:PAGES"),
    http=Http(issuer=".signed_tokens:open_issuer"),
    on={Event.OPEN: ".settings:trust_issuer"},
)
