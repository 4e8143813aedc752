"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(name="migration", commands={"Take out and bring in": {".cli": ("migrate",)}})
