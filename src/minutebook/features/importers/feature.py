"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="importers",
    needs=("archives",),
    setup=".setup:STEPS",
    commands={"Take out and bring in": {".cli": ("import",)}},
)
