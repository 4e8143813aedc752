"""The register of this feature."""

from minutebook.feature import Answers, Event, Feature, WebPages

FEATURE = Feature(
    name="why",
    needs=("citations", "code"),
    settings=".settings:WhySettings",
    commands={"Code": {".cli": ("why",)}},
    options={"sessions": ".session_commits:OPTIONS"},
    operations=".operations:OPERATIONS",
    answers=Answers(lists=".commit_source:CommitSource"),
    pages=WebPages(
        parts={
            "code.below": {"why/reasons.html": ".seam:of_code"},
            "memory.below": {"why/reasons.html": ".seam:of_memory"},
            "session.links": {"why/commits.html": ".seam:of_session"},
        }
    ),
    jobs=".seam:jobs",
    on={
        Event.CODE_FOUND: ".seam:beside_code",
        Event.INDEX: ".seam:on_index",
        Event.CONNECT: ".seam:on_connect",
    },
)
