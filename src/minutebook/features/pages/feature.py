"""The register of this feature."""

from minutebook.feature import Feature, Http, WebPages

FEATURE = Feature(
    name="pages",
    needs=("http",),
    commands={"Begin": {".cli": ("ui",)}},
    pages=WebPages(own=".views.register:PAGES"),
    http=Http(mount=".cli:MOUNT"),
    daemon_requests={"pages": ".serving:show"},
)
