"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="bench", needs=("code", "ledger"), commands={"Look after it": {".cli": ("bench",)}}
)
