"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="hooks",
    needs=("ledger",),
    services=".services:HookServices",
    operations=".operations:OPERATIONS",
)
