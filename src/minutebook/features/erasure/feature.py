"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="erasure",
    needs=("ledger",),
    checks=".order:checks",
    undo=".undoing:undoing",
    commands={"Look after it": {".cli": ("erase",)}},
)
