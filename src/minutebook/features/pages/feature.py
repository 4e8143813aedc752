"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="pages",
    services=".services:PageServices",
    commands={"Begin": {".cli": ("ui",)}},
)
