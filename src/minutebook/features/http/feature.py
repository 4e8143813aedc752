"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="http",
    settings=".settings:HttpSettings",
    operations=".operations:OPERATIONS",
    commands={"Look after it": {".token_cli": ("token",)}},
    options={"serve": ".serving:SERVE", "export-schema": ".serving:EXPORT_SCHEMA"},
)
