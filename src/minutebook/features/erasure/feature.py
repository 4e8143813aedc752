"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="erasure",
    needs=("ledger",),
    services=".services:ErasureServices",
    checks=".services:checks",
    undo=".undoing:undoing",
    commands={"Look after it": {".cli": ("erase",)}},
)
