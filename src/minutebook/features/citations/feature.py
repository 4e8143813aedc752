"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="citations",
    needs=("code",),
    operations=".operations:OPERATIONS",
    commands={"Code": {".cli": ("check",)}},
)
