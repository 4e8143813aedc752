"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="notes",
    needs=("archives",),
    services=".services:NoteServices",
    commands={"Take out and bring in": {".cli": ("notes",)}},
)
