"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="why",
    needs=("citations", "code"),
    settings=".settings:WhySettings",
    services=".services:WhyServices",
    lists=".services:listed_source",
    beside_code=".services:beside_code",
    jobs=".services:jobs",
    on_index=".services:on_index",
    on_connect=".services:on_connect",
    options={
        "sessions": ".session_commits:OF_COMMIT",
        "session": ".session_commits:COMMITS",
    },
    operations=".operations:OPERATIONS",
    page_parts={
        "code.below": {"why/reasons.html": ".page_parts:of_code"},
        "memory.below": {"why/reasons.html": ".page_parts:of_memory"},
        "session.links": {"why/commits.html": ".page_parts:of_session"},
    },
    commands={"Code": {".cli": ("why",)}},
)
