"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="archives",
    needs=("ledger",),
    settings=".settings:ArchiveSettings",
    copies=".services:copies",
    status=".status:status",
    services=".services:ArchiveServices",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    checks=".checks:checks",
    commands={
        "Take out and bring in": {
            ".cli": (
                "export",
                "backup",
                "restore",
            )
        }
    },
)
