"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="explain",
    needs=("ledger",),
    services=".services:ExplainServices",
)
