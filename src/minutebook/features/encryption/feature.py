"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="encryption",
    commands={"Take out and bring in": {".cli": ("encrypt",)}},
    status=".encryption:status",
    checks=".encryption:checks",
)
