"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="code",
    needs=("pages",),
    settings=".settings:CodeSettings",
    tools=".tools:OPERATIONS",
    operations=".operations:OPERATIONS",
    jobs=".seam:jobs",
    lists=".search:CodeSearch",
    on_reset=".seam:removed",
    examples={"index .": "let agents find this folder's code"},
    commands={
        "Code": {".cli": ("index", "code")},
        "Look after it": {".where": ("where",)},
    },
    pages=".pages.register:PAGES",
    page_parts={"health.below": {"code/health.html": ".pages.register:projects_of"}},
)
