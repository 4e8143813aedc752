"""Composes the encryption of a store's files."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.config import Settings
from minutebook.disk.keys import place_of
from minutebook.places import data_directory, sync_folder
from minutebook.services.maintenance.doctor import Check, Finding

if TYPE_CHECKING:
    from minutebook.features.encryption.encryption import Encryption


def checks(app: App) -> Iterable[Check]:
    """Yield the check for plain files in an encrypted directory."""
    faults = encryption_of(app.settings).faults
    yield Check(
        "The encryption", lambda: [Finding(f"{each}.", remedy) for each, remedy in faults()]
    )


def encryption_of(settings: Settings) -> "Encryption":
    """Return the encryption of the data directory of these settings."""
    from minutebook.features.encryption.encryption import Encryption

    return Encryption(data_directory(settings), place_of(settings.key), sync_folder(settings))
