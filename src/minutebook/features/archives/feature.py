"""The register of this feature."""

from minutebook.feature import Feature, Files, WebPages

FEATURE = Feature(
    name="archives",
    needs=("ledger",),
    settings=".settings:ArchiveSettings",
    files=Files(
        copies=".settings:copies",
        backups=".copies.backups:known_backups",
        rewrite=".copies.erasing:rewrite_without",
    ),
    commands={
        "Take out and bring in": {
            ".cli": ("export", "backup", "restore"),
            ".notes_cli": ("notes",),
        }
    },
    status=".seam:status",
    checks=".seam:checks",
    pages=WebPages(
        parts={
            "health.done": {"archives/done.html": ""},
            "health.upkeep": {"archives/backups.html": ".seam:backups"},
        },
        acts={"/health/backup": ".seam:back_up"},
    ),
    jobs=".copies.scheduled_backups:jobs",
    undo=".seam:undoing",
)
