"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="code",
    settings=".settings:CodeSettings",
    services=".services:CodeServices",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    lists=".services:listed_source",
    on_reset=".services:removed",
    commands={
        "Code": {
            ".cli": (
                "index",
                "code",
                "projects",
            )
        }
    },
)
