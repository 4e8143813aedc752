"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="citations",
    needs=("code",),
    tables=".rows:TABLES",
    operations=".operations:OPERATIONS",
    jobs=".verdicts:jobs",
    on_write=".seam:note_absent",
    undo=".seam:undoing",
    on_hits={"cited": ".verdicts:notes"},
    on_repair=".verdicts:judge_anew",
    options={"remember": ".given:IN_METADATA", "decide": ".given:IN_CONSEQUENCES"},
    commands={"Code": {".cli": ("check",)}},
)
