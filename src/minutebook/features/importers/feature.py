"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="importers",
    needs=("archives",),
    commands={"Take out and bring in": {".cli": ("import",)}},
    setup=".setup:STEPS",
)
