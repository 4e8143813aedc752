"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="tidying",
    needs=("citations", "ledger", "pages", "undo"),
    settings=".settings:TidyingSettings",
    status=".status:status",
    checks=".status:checks",
    tables=".tables:TABLES",
    services=".services:TidyingServices",
    prompts=".prompt_data:PROMPTS",
    on_status=".services:note_status",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    undo=".undoing:undoing",
    commands={"Look after it": {".cli": ("tidy",)}},
    today=".today:waiting",
    pages=".pages.register:PAGES",
    page_parts={
        "health.look_at": {"tidying/waiting.html": ".pages.register:waiting"},
        "today.waits": {"tidying/today.html": ".pages.register:first_of_all"},
    },
)
