"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="sync",
    needs=("ledger",),
    tables=".rows:TABLES",
    erased_copies=".copies:CopiesOfRemotes",
    undo=".undoing:undoing",
    commands={"Take out and bring in": {".cli": ("sync",)}},
)
