"""The paths of the settings: the data directory, and the derived files in it."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.feature import entries_of
from minutebook.memory.maintenance.data_directory import DataDirectory
from minutebook.store.disk.keys import place_of

if TYPE_CHECKING:
    from minutebook.memory.maintenance.doctor import Finding

MOST_BACKUPS = 5
"""Backups that are named if a store is damaged."""


def data_directory(settings: Settings) -> DataDirectory:
    """Return the data directory of these settings, with its derived files."""
    copies = [path for copies_of in entries_of("files.copies") for path in copies_of(settings)]
    return DataDirectory(
        settings.database,
        settings.claims,
        (settings.server_index,),
        tuple(dict.fromkeys(copies)),
        keys=place_of(settings.key),
        is_on_server=settings.store is not None,
    )


def backups_of(directory: DataDirectory) -> list[Path]:
    """Return the existing backups of a data directory, as features know them, the latest first."""
    return [path for known in entries_of("files.backups") for path in known(directory)]


def damage_of(settings: Settings) -> "list[Finding]":
    """Return the losses of a store with a damaged or lost file, and the backups from which it can be restored."""
    from minutebook.memory.maintenance.doctor import damage_findings
    from minutebook.store.sqlite import damage
    from minutebook.store.sqlite.encryption import key_of

    if settings.store is not None:
        return []
    backups = backups_of(data_directory(settings))[:MOST_BACKUPS]
    key = key_of(settings.database, place_of(settings.key))
    return damage_findings(damage.losses(settings.database, key), backups)


def sync_folder(settings: Settings) -> Path:
    """Return the folder of sync for copies of remotes and files in transit, all of which are derived."""
    return settings.home / ".sync"


def machine_name() -> str:
    """Return the name by which people know this machine."""
    return socket.gethostname()
