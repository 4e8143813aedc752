"""Composes what looks after the store."""

from typing import TYPE_CHECKING

from minutebook.composing.code import CodeServices
from minutebook.composing.journal import JournalServices
from minutebook.composing.knowledge import KnowledgeServices
from minutebook.composing.ledger import LedgerServices
from minutebook.composing.service import service
from minutebook.disk.keys import place_of
from minutebook.domain.roots import Roots
from minutebook.places import data_directory, encryption_of, schedule_of

if TYPE_CHECKING:
    from minutebook.services.maintenance.archives import Archives
    from minutebook.services.maintenance.assigning import Assigning
    from minutebook.services.maintenance.backups import Backups
    from minutebook.services.maintenance.database import Database
    from minutebook.services.maintenance.doctor import Doctor
    from minutebook.services.maintenance.encryption import Encryption
    from minutebook.services.maintenance.folder_exports import FolderExports
    from minutebook.services.maintenance.graph_exports import GraphExports
    from minutebook.services.maintenance.overview import Overview
    from minutebook.services.maintenance.scheduled_backups import ScheduledBackups
    from minutebook.services.maintenance.secret_scan import SecretScan
    from minutebook.services.maintenance.source_imports import SourceImports


class MaintenanceServices(KnowledgeServices, LedgerServices, JournalServices, CodeServices):
    """What looks after the store: counts, checks, copies, exports and imports."""

    @service
    def archives(self) -> "Archives":
        """Export and import."""
        from minutebook.services.maintenance.archive_paths import ArchivePaths
        from minutebook.services.maintenance.archives import Archives

        return Archives(
            self.infrastructure,
            self.mentions,
            self.rebuilds,
            ArchivePaths(self._settings.backups, Roots(self._settings.archive_roots, self._home)),
            data_directory(self._settings),
        )

    @service
    def secret_scan(self) -> "SecretScan":
        """Find and replace the secrets that are kept."""
        from minutebook.services.maintenance.secret_scan import SecretScan

        return SecretScan(self.infrastructure, self.mentions)

    @service
    def assigning(self) -> "Assigning":
        """Move records to the repositories that they are about."""
        from minutebook.services.maintenance.assigning import Assigning

        return Assigning(self.infrastructure, self._writer, self.sessions)

    @service
    def source_imports(self) -> "SourceImports":
        """Import what other programs kept."""
        from minutebook.services.maintenance.source_imports import SourceImports

        return SourceImports(self.infrastructure, self._writer, self.mentions)

    @service
    def folder_exports(self) -> "FolderExports":
        """Export notes, or tables, into a folder."""
        from minutebook.services.maintenance.folder_exports import FolderExports

        return FolderExports(self._store, self.trail)

    @service
    def graph_exports(self) -> "GraphExports":
        """Export entities as the reference memory server keeps them."""
        from minutebook.services.maintenance.graph_exports import GraphExports

        return GraphExports(self._store, self.trail, self.clock)

    @service
    def backups(self) -> "Backups":
        """Copy the store and the ledgers."""
        from minutebook.services.maintenance.backups import Backups

        return Backups(data_directory(self._settings), self._store, self.trail, self.clock)

    @service
    def scheduled_backups(self) -> "ScheduledBackups":
        """Copy them by a schedule."""
        from minutebook.services.maintenance.restores import check_restorable
        from minutebook.services.maintenance.scheduled_backups import ScheduledBackups

        return ScheduledBackups(
            self.backups,
            lambda backup: check_restorable(backup, place_of(self._settings.key)),
            schedule_of(self._settings),
            self._settings.home,
            self._locks,
            self.clock,
        )

    @service
    def encryption(self) -> "Encryption":
        """Tell how the files are encrypted."""
        return encryption_of(self._settings)

    @service
    def database(self) -> "Database":
        """Stop and start the engine."""
        from minutebook.services.maintenance.database import Database

        return Database(self._store, self.embeddings, self.embeddings.notify)

    @service
    def doctor(self) -> "Doctor":
        """Check the store, and repair it."""
        from minutebook.services.maintenance.doctor import Doctor
        from minutebook.services.maintenance.erasure_order import Orders

        return Doctor(
            self._store,
            self.trail,
            self.embedding,
            self.mentions,
            self.ledgers,
            self.scheduled_backups,
            self.secret,
            Orders(self._settings.home),
            self.encryption,
        )

    @service
    def overview(self) -> "Overview":
        """Count what is in the store."""
        from minutebook.services.maintenance.overview import Overview

        return Overview(
            self.infrastructure, self.supersession, lambda: self.projects, lambda: self.recalls
        )
