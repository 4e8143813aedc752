"""The register of this feature."""

from minutebook.feature import Event, Feature, WebPages

FEATURE = Feature(
    name="recall_log",
    needs=("pages",),
    settings=".settings:RecallLogSettings",
    tables=".rows:TABLES",
    commands={"Sessions": {".cli": ("recalls",)}},
    operations=".operations:OPERATIONS",
    today=".seam:answered",
    pages=WebPages(
        parts={
            "memory.below": {"recall_log/memory.html": ".seam:recalls_of"},
            "session.links": {"recall_log/session.html": ".seam:questions_of_session"},
            "today.told": {"recall_log/day.html": ".seam:questions_of_day"},
        }
    ),
    on={
        Event.ERASE: ".rows:forget",
        Event.ANSWER: ".recall_log:note_answer",
        Event.RESET: ".recall_log:removed",
    },
)
