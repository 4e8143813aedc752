"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(name="demo", commands={"Begin": {".demo": ("demo",)}})
