"""The register of this feature."""

from minutebook.feature import Feature, WebPages

FEATURE = Feature(
    name="install",
    commands={"Begin": {".cli": ("install",)}},
    setup=".setup:STEPS",
    checks_here=".seam:checks_here",
    pages=WebPages(
        parts={
            "find.empty": {"install/empty.html": ".seam:clients"},
            "settings.below": {"install/clients.html": ".seam:clients"},
        }
    ),
)
