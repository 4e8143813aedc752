"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(name="bench", commands={"Look after it": {".cli": ("bench",)}})
