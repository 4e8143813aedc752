"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="http",
    settings=".settings:HttpSettings",
    options={"serve": ".serving:SERVE", "export-schema": ".serving:EXPORT_SCHEMA"},
)
