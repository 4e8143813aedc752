"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="pages",
    commands={"Begin": {".cli": ("ui",)}},
)
