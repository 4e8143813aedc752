"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="recall_log",
    needs=("pages",),
    settings=".settings:RecallLogSettings",
    tables=".rows:TABLES",
    on_erase=".rows:forget",
    operations=".operations:OPERATIONS",
    on_answer=".listening:listener",
    on_reset=".listening:removed",
    commands={"Sessions": {".cli": ("recalls",)}},
    today=".seam:answered",
    page_parts={
        "memory.below": {"recall_log/memory.html": ".seam:recalls_of"},
        "session.links": {"recall_log/session.html": ".seam:told_in"},
        "today.told": {"recall_log/day.html": ".seam:told_on"},
    },
)
