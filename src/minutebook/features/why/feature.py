"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="why",
    needs=("citations",),
    options={
        "sessions": ".session_commits:OF_COMMIT",
        "session": ".session_commits:COMMITS",
    },
    operations=".operations:OPERATIONS",
    commands={"Code": {".cli": ("why",)}},
)
