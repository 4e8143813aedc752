"""Composes what erases records."""

from typing import TYPE_CHECKING

from minutebook.composing.maintenance import MaintenanceServices
from minutebook.composing.service import service
from minutebook.places import data_directory, sync_folder

if TYPE_CHECKING:
    from minutebook.services.erasure.erasing import Erasing


class ErasureServices(MaintenanceServices):
    """What erases records and looks for what is left of them."""

    @service
    def erasing(self) -> "Erasing":
        """Erase records."""
        from minutebook.services.erasure.erasing import Erasing, Whereabouts
        from minutebook.services.erasure.selection import Selection
        from minutebook.services.maintenance.backups import known_backups

        directory = data_directory(self._settings)
        folders = (*directory.derived, *directory.copies)
        copies = [path for path in folders if path != self._settings.models]
        return Erasing(
            self.infrastructure,
            Selection(self._store),
            self.supersession,
            self.mentions,
            self.ledger_texts,
            Whereabouts(
                self._settings.home,
                (self._settings.ledgers, *copies),
                (self._settings.models,),
                sync_folder(self._settings),
                lambda: [] if directory.is_on_server else known_backups(directory),
                directory.keys,
            ),
        )
