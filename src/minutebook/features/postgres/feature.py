"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="postgres",
    engines={"postgresql": ".store:opened", "postgres": ".store:opened"},
    commands={"Look after it": {".cli": ("store",)}},
)
