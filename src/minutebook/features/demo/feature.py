"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="demo", needs=("code", "ledger", "recall_log"), commands={"Begin": {".cli": ("demo",)}}
)
