"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="projects",
    services=".services:ProjectServices",
    commands={"Look after it": {".assign_cli": ("assign",)}},
)
