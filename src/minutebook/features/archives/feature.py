"""The register of this feature."""

from minutebook.feature import Feature

FEATURE = Feature(
    name="archives",
    needs=("ledger",),
    settings=".settings:ArchiveSettings",
    copies=".settings:copies",
    backups=".copies.backups:known_backups",
    rewrite_backup=".copies.erasing:without",
    status=".operations:status",
    operations=".operations:OPERATIONS",
    jobs=".copies.scheduled_backups:jobs",
    checks=".seam:checks",
    undo=".seam:undoing",
    commands={
        "Take out and bring in": {
            ".cli": ("export", "backup", "restore"),
            ".notes_cli": ("notes",),
        }
    },
    page_parts={
        "health.done": {"archives/done.html": ""},
        "health.upkeep": {"archives/backups.html": ".seam:backups"},
    },
    page_acts={"/health/backup": ".seam:back_up"},
)
