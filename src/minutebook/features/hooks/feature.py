"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="hooks",
    needs=("importers", "ledger", "recall_log", "summarizer"),
    settings=".settings:HookSettings",
    checks_here=".seam:checks_here",
    where=".seam:where",
    lately_here=".seam:lately_here",
    setup=".cli:STEPS",
    jobs=".cut_short:jobs",
    daemon_requests={"hook": ".answers:serve"},
    today=".seam:told_unasked",
    operations=".operations:OPERATIONS",
    commands={"Look after it": {".cli": ("hook",)}},
)
