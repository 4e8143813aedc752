"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="sync",
    needs=("ledger",),
    tables=".tables:TABLES",
    services=".services:SyncServices",
    erased_copies=".services:erased_copies",
    undo=".undoing:undoing",
    commands={"Take out and bring in": {".cli": ("sync",)}},
)
