"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="tidying",
    needs=("ledger", "recall_log"),
    settings=".settings:TidyingSettings",
    status=".status:status",
    checks=".status:checks",
    tables=".tables:TABLES",
    on_erase=".rows:forget",
    services=".services:TidyingServices",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    commands={"Look after it": {".cli": ("tidy",)}},
)
