"""Composes what keeps the store in step with other places."""

from typing import TYPE_CHECKING

from minutebook.composing.knowledge import KnowledgeServices
from minutebook.composing.ledger import LedgerServices
from minutebook.composing.service import service
from minutebook.places import machine_name, sync_folder

if TYPE_CHECKING:
    from minutebook.services.sync.machines import MachineSync
    from minutebook.services.sync.notes import NoteSync


class SyncServices(KnowledgeServices, LedgerServices):
    """What keeps the store in step: with other machines, and with a folder of notes."""

    @service
    def machine_sync(self) -> "MachineSync":
        """Keep several machines in step."""
        from minutebook.services.sync.machines import MachineSync

        return MachineSync(
            self.infrastructure,
            self.mentions,
            self.rebuilds,
            self.ledger_texts,
            self.doors,
            sync_folder(self._settings),
            machine_name(),
            decisions_travel=self._settings.ledger is None,
        )

    @service
    def note_sync(self) -> "NoteSync":
        """Keep a folder of notes in step."""
        from minutebook.services.sync.notes import NoteSync

        return NoteSync(self.infrastructure, self.memories)
