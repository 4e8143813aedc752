"""The register of this feature."""

from minutebook.feature import Event, Feature, Knowledge, WebPages

FEATURE = Feature(
    name="tidying",
    needs=("citations", "ledger", "pages", "undo"),
    settings=".settings:TidyingSettings",
    tables=".rows:TABLES",
    commands={"Look after it": {".cli": ("tidy",)}},
    operations=".operations:OPERATIONS",
    status=".status:status",
    today=".seam:waiting",
    checks=".status:checks",
    knowledge=Knowledge(prompts=".seam:PROMPTS"),
    pages=WebPages(
        own=".pages.register:PAGES",
        parts={
            "health.look_at": {"tidying/waiting.html": ".pages.register:waiting"},
            "today.waits": {"tidying/today.html": ".pages.register:first_items"},
        },
    ),
    jobs=".looking.rounds:jobs",
    on={Event.STATUS: ".looking.state:note_status", Event.WRITE: ".seam:suggest_pairs"},
    undo=".seam:undoing",
)
