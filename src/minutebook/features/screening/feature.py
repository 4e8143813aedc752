"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="screening",
    services=".services:ScreeningServices",
    operations=".operations:OPERATIONS",
    commands={"Look after it": {".cli": ("scan",)}},
)
