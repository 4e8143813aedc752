"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="journal",
    needs=("archives",),
    commands={"Sessions": {".cli": ("sessions",)}},
    examples={"sessions": "see what your agents did, session by session"},
    contract=".contract:journal",
)
