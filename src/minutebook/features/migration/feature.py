"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="migration", needs=("ledger",), commands={"Take out and bring in": {".cli": ("migrate",)}}
)
