"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="explain",
    needs=("ledger", "pages"),
    services=".services:ExplainServices",
    pages=".pages:PAGES",
    page_parts={"find.links": {"explain/link.html": ""}},
)
