"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="projects",
    services=".services:ProjectServices",
    undo=".undoing:undoing",
    setup=".setup:STEPS",
    lately_here=".setup:lately_here",
    commands={"Look after it": {".assign_cli": ("assign",)}},
)
