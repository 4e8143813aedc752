"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="encryption",
    status=".operations:status",
    operations=".operations:OPERATIONS",
    checks=".encryption:checks",
    commands={"Take out and bring in": {".cli": ("encrypt",)}},
)
