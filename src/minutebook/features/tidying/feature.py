"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="tidying",
    needs=("citations", "ledger", "pages", "undo"),
    settings=".settings:TidyingSettings",
    status=".status:status",
    checks=".status:checks",
    tables=".rows:TABLES",
    prompts=".seam:PROMPTS",
    on_status=".looking.state:note_status",
    on_write=".seam:suggest_pairs",
    operations=".operations:OPERATIONS",
    jobs=".looking.rounds:jobs",
    undo=".seam:undoing",
    commands={"Look after it": {".cli": ("tidy",)}},
    today=".seam:waiting",
    pages=".pages.register:PAGES",
    page_parts={
        "health.look_at": {"tidying/waiting.html": ".pages.register:waiting"},
        "today.waits": {"tidying/today.html": ".pages.register:first_of_all"},
    },
)
