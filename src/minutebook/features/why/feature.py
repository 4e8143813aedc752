"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="why",
    needs=("citations", "code"),
    settings=".settings:WhySettings",
    lists=".commit_source:CommitSource",
    beside_code=".seam:beside_code",
    jobs=".seam:jobs",
    on_index=".seam:on_index",
    on_connect=".seam:on_connect",
    options={"sessions": ".session_commits:OPTIONS"},
    operations=".operations:OPERATIONS",
    page_parts={
        "code.below": {"why/reasons.html": ".seam:of_code"},
        "memory.below": {"why/reasons.html": ".seam:of_memory"},
        "session.links": {"why/commits.html": ".seam:of_session"},
    },
    commands={"Code": {".cli": ("why",)}},
)
