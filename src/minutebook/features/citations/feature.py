"""The register of this feature."""

from minutebook.feature import Answers, Event, Feature

FEATURE = Feature(
    name="citations",
    needs=("code",),
    tables=".rows:TABLES",
    commands={"Code": {".cli": ("check",)}},
    options={"remember": ".given:IN_METADATA", "decide": ".given:IN_CONSEQUENCES"},
    operations=".operations:OPERATIONS",
    answers=Answers(notes={"cited": ".verdicts:notes"}),
    jobs=".verdicts:jobs",
    on={Event.WRITE: ".seam:note_absent", Event.REPAIR: ".verdicts:judge_anew"},
    undo=".seam:undoing",
)
