"""The register of this feature."""

from minutebook.feature import Answers, Event, Feature, Knowledge, WebPages

FEATURE = Feature(
    name="code",
    needs=("pages",),
    settings=".settings:CodeSettings",
    commands={
        "Code": {".cli": ("index", "code")},
        "Look after it": {".where": ("where",)},
    },
    examples={"index .": "let agents find this folder's code"},
    operations=".operations:OPERATIONS",
    knowledge=Knowledge(tools=".tools:OPERATIONS"),
    answers=Answers(lists=".search:CodeSearch"),
    pages=WebPages(
        own=".pages.register:PAGES",
        parts={"health.below": {"code/health.html": ".pages.register:projects_of"}},
    ),
    jobs=".projects:jobs",
    on={Event.RESET: ".projects:forget_projects"},
)
