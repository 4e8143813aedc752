"""The register of this feature."""

from minutebook.feature import Feature, WebPages

FEATURE = Feature(
    name="screening",
    commands={"Look after it": {".cli": ("scan",)}},
    operations=".operations:OPERATIONS",
    pages=WebPages(parts={"health.findings": {"screening/found.html": ".secret_scan:secrets"}}),
    undo=".secret_scan:undoing",
)
