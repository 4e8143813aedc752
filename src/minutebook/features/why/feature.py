"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="why",
    needs=("citations",),
    operations=".operations:OPERATIONS",
    commands={"Code": {".cli": ("why",)}},
)
