"""Composes the erasure of records."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.feature import loaded
from minutebook.features.erasure.order import Orders
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.places import backups_of, data_directory
from minutebook.services.maintenance.doctor import Check, Finding

if TYPE_CHECKING:
    from minutebook.features.erasure.erasing import Erasing


class ErasureServices(FeatureServices):
    """The services that erase records and look for their remains."""

    @service
    def erasing(self) -> "Erasing":
        """Erase records."""
        from minutebook.features.erasure.erasing import Erasing, ErasurePlaces
        from minutebook.features.erasure.selection import ErasureSelection
        from minutebook.store.sql.side_words import SideWords

        directory = data_directory(self.settings)
        copies = (*directory.derived, *directory.copies)
        return Erasing(
            self.infrastructure,
            ErasureSelection(
                self.infrastructure.records, SideWords(self.infrastructure.store.database)
            ),
            self.app.supersession,
            [of(self.app) for of in loaded("erased_copies")],
            self.app.get(LedgerServices).ledger_texts,
            ErasurePlaces(
                self.settings.home,
                (self.settings.of(LedgerSettings).ledgers, *copies),
                lambda: [] if directory.is_on_server else backups_of(directory),
                directory.keys,
            ),
        )


def checks(app: App) -> Iterable[Check]:
    """Yield the check for an erasure that was cut short."""
    yield Check("The erasure", lambda: _of_order(Orders(app.settings.home)))


def _of_order(orders: Orders) -> list[Finding]:
    if orders.read() is None:
        return []
    finding = "An erasure was cut short: what it was about may still be there"
    return [Finding(finding, "run `minutebook erase --resume`")]
