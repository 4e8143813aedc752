"""Composes the sync of several machines."""

from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.places import machine_name, sync_folder

if TYPE_CHECKING:
    from minutebook.features.sync.copies import CopiesOfRemotes
    from minutebook.features.sync.machines import MachineSync


class SyncServices(FeatureServices):
    """The services that keep the store in step with other machines."""

    @service
    def machine_sync(self) -> "MachineSync":
        """Keep several machines in step."""
        from minutebook.features.sync.machines import MachineSync

        return MachineSync(
            self.infrastructure,
            self.app.mentions,
            self.app.get(LedgerServices).rebuilds,
            self.app.get(LedgerServices).ledger_texts,
            self.app.doors,
            sync_folder(self.settings),
            machine_name(),
            decisions_travel=self.settings.of(LedgerSettings).ledger is None,
        )


def erased_copies(app: App) -> "CopiesOfRemotes":
    """Return the copies of remotes, from which erased records go."""
    from minutebook.features.sync.copies import CopiesOfRemotes

    return CopiesOfRemotes(app.infrastructure, app.mentions, sync_folder(app.settings))
