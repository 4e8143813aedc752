"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(name="governance", contract=".contract:governance")
