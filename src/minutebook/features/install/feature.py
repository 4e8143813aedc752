"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="install",
    commands={"Begin": {".cli": ("install",)}},
    setup=".setup:STEPS",
    checks_here=".checks:checks_here",
    page_parts={
        "find.empty": {"install/empty.html": ".page_parts:clients"},
        "settings.below": {"install/clients.html": ".page_parts:clients"},
    },
)
