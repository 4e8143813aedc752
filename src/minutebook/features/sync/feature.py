"""The register of this feature."""

from minutebook.feature import Feature, Files

FEATURE = Feature(
    name="sync",
    needs=("ledger",),
    files=Files(erased=".copies:CopiesOfRemotes"),
    tables=".rows:TABLES",
    commands={"Take out and bring in": {".cli": ("sync",)}},
    undo=".machines:undoing",
)
