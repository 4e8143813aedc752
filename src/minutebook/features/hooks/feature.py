"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="hooks",
    needs=("importers", "ledger", "recall_log", "summarizer"),
    settings=".settings:HookSettings",
    checks_here=".checks:checks_here",
    where=".here:where",
    lately_here=".checks:lately_here",
    setup=".setup:STEPS",
    jobs=".cut_short:jobs",
    daemon_requests={"hook": ".answers:serve"},
    today=".today:told_unasked",
    operations=".operations:OPERATIONS",
    commands={"Look after it": {".cli": ("hook", "hooks")}},
)
