"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="journal",
    needs=("archives",),
    contract=".contract:journal",
    examples={"sessions": "see what your agents did, session by session"},
    commands={"Sessions": {".cli": ("sessions",)}},
)
