"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="pages",
    needs=("http",),
    commands={"Begin": {".cli": ("ui",)}},
    pages=".views.register:PAGES",
    daemon_requests={"pages": ".serving:show"},
    mount=".cli:MOUNT",
)
