"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="encryption",
    services=".services:EncryptionServices",
    operations=".operations:OPERATIONS",
    checks=".services:checks",
)
