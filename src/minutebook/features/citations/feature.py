"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="citations",
    needs=("code",),
    services=".services:CitationServices",
    tables=".tables:TABLES",
    operations=".operations:OPERATIONS",
    jobs=".services:jobs",
    on_write=".absent:note_absent",
    undo=".undoing:undoing",
    on_hits={"cited": ".services:verdicts"},
    on_repair=".services:judge_anew",
    options={"remember": ".given:IN_METADATA", "decide": ".given:IN_CONSEQUENCES"},
    commands={"Code": {".cli": ("check",)}},
)
