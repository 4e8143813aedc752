"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="code",
    needs=("pages",),
    settings=".settings:CodeSettings",
    services=".services:CodeServices",
    tools=".tools:OPERATIONS",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    lists=".services:listed_source",
    on_reset=".services:removed",
    examples={"index .": "let agents find this folder's code"},
    commands={
        "Code": {".cli": ("index", "code")},
        "Look after it": {".where": ("where",)},
    },
    pages=".pages.register:PAGES",
    page_parts={"health.below": {"code/health.html": ".pages.register:projects_of"}},
)
