"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="archives",
    needs=("ledger",),
    services=".services:ArchiveServices",
    jobs=".services:jobs",
    checks=".checks:checks",
)
