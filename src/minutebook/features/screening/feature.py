"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="screening",
    operations=".operations:OPERATIONS",
    undo=".seam:undoing",
    commands={"Look after it": {".cli": ("scan",)}},
    page_parts={"health.findings": {"screening/found.html": ".seam:secrets"}},
)
