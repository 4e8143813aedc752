"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="tidying",
    needs=("ledger", "recall_log"),
    settings=".settings:TidyingSettings",
    status=".status:status",
    checks=".status:checks",
    services=".services:TidyingServices",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    commands={"Look after it": {".cli": ("tidy",)}},
)
