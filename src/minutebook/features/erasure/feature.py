"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="erasure",
    needs=("ledger",),
    commands={"Look after it": {".cli": ("erase",)}},
    checks=".order:checks",
    undo=".order:undoing",
)
