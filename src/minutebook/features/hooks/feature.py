"""The register of this feature."""

from minutebook.feature import Event, Feature

FEATURE = Feature(
    name="hooks",
    needs=("importers", "ledger", "recall_log", "summarizer"),
    settings=".settings:HookSettings",
    commands={"Look after it": {".cli": ("hook",)}},
    operations=".operations:OPERATIONS",
    setup=".cli:STEPS",
    today=".seam:told_unasked",
    checks_here=".seam:checks_here",
    daemon_requests={"hook": ".answers:serve"},
    jobs=".cut_short:jobs",
    on={Event.WHERE: ".seam:where"},
)
