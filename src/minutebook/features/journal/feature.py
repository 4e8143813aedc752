"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="journal",
    needs=("archives",),
    contract=".contract:journal",
    commands={"Sessions": {".cli": ("sessions", "session", "summarize")}},
)
