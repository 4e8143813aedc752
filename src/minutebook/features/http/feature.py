"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="http",
    settings=".settings:HttpSettings",
    commands={"Look after it": {".token_cli": ("token",)}},
    options={"serve": ".serving:SERVE", "export-schema": ".serving:EXPORT_SCHEMA"},
    operations=".operations:OPERATIONS",
)
