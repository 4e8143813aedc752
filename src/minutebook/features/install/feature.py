"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="install",
    commands={"Begin": {".cli": ("install",)}},
    checks_here=".checks:checks_here",
    page_parts={"settings.below": {"install/clients.html": ".page_parts:clients"}},
)
