"""Composes exports and imports of records."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.config import Settings
from minutebook.disk.keys import place_of
from minutebook.domain.caller import Caller
from minutebook.domain.counts import count_of
from minutebook.domain.filters import default_organization
from minutebook.domain.rights.roots import Roots
from minutebook.features.archives.settings import ArchiveSettings
from minutebook.features.ledger.services import LedgerServices
from minutebook.places import data_directory
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.features.archives.archives import Archives
    from minutebook.features.archives.copies.backups import Backups
    from minutebook.features.archives.copies.scheduled_backups import Schedule, ScheduledBackups
    from minutebook.features.archives.exports.folder_exports import FolderExports
    from minutebook.features.archives.exports.graph_exports import GraphExports
    from minutebook.features.archives.notes.note_sync import NoteSync

log = logging.getLogger(__name__)


class ArchiveServices(FeatureServices):
    """Archives, exports and backups."""

    @service
    def archives(self) -> "Archives":
        """Export and import."""
        from minutebook.features.archives.archive_paths import ArchivePaths
        from minutebook.features.archives.archives import Archives

        settings = self.settings
        return Archives(
            self.infrastructure,
            self.app.mentions,
            self.app.get(LedgerServices).rebuilds,
            ArchivePaths(
                settings.of(ArchiveSettings).backups,
                Roots(settings.of(ArchiveSettings).archive_roots, self.app.home),
            ),
            data_directory(settings),
        )

    @service
    def folder_exports(self) -> "FolderExports":
        """Export notes, or tables, into a folder."""
        from minutebook.features.archives.exports.folder_exports import FolderExports

        return FolderExports(self.infrastructure.records, self.app.trail)

    @service
    def note_sync(self) -> "NoteSync":
        """Keep a folder of notes in step."""
        from minutebook.features.archives.notes.note_sync import NoteSync

        return NoteSync(self.infrastructure, self.app.memories)

    @service
    def graph_exports(self) -> "GraphExports":
        """Export entities as the reference memory server keeps them."""
        from minutebook.features.archives.exports.graph_exports import GraphExports

        return GraphExports(self.infrastructure.records, self.app.trail, self.app.clock)

    @service
    def backups(self) -> "Backups":
        """Copy the store and the ledgers."""
        from minutebook.features.archives.copies.backups import Backups

        directory = data_directory(self.settings)
        return Backups(directory, self.infrastructure.store, self.app.trail, self.app.clock)

    @service
    def scheduled_backups(self) -> "ScheduledBackups":
        """Copy them by a schedule."""
        from minutebook.features.archives.copies.restores import check_restorable
        from minutebook.features.archives.copies.scheduled_backups import ScheduledBackups

        return ScheduledBackups(
            self.backups,
            lambda backup: check_restorable(backup, place_of(self.settings.key)),
            schedule_of(self.settings),
            self.settings.home,
            self.infrastructure.locks,
            self.app.clock,
        )


def jobs(app: App) -> Iterable[Job]:
    """Yield the job of the backups that are made by schedule, if there is a schedule."""
    backups = app.get(ArchiveServices).scheduled_backups

    def back_up(caller: Caller) -> None:
        if made := backups.run_if_due(caller):
            log.info("backed up %s", count_of(made.size, "byte"))

    if backups.state().next_at is not None:
        yield Job("backups", back_up, "the scheduled backup failed")


def schedule_of(settings: Settings) -> "Schedule | None":
    """Return the schedule of backups that these settings state; a store on a server has its own."""
    from minutebook.features.archives.copies.scheduled_backups import Schedule

    if settings.store is not None:
        return None
    every = (
        timedelta(hours=settings.of(ArchiveSettings).backup_every)
        if settings.of(ArchiveSettings).backup_every
        else None
    )
    return Schedule(
        every,
        settings.of(ArchiveSettings).scheduled_backups,
        settings.of(ArchiveSettings).backup_keep,
    )


def copies(settings: Settings) -> Iterable[Path]:
    """Yield the folders in which archives and backups are written."""
    archives = Roots(
        settings.of(ArchiveSettings).archive_roots, default_organization(settings.caller())
    ).all()
    yield from archives or (settings.of(ArchiveSettings).backups,)
    yield settings.of(ArchiveSettings).scheduled_backups
