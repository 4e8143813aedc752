"""Where the settings put things: the data directory and what in it is derived, ledgers, secret, backups.

Services are imported by whoever needs them alone, as in `app`.
"""

import getpass
import socket
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.disk.keys import place_of
from minutebook.domain.caller import ANYBODY
from minutebook.domain.filters import default_organization
from minutebook.domain.roots import Roots
from minutebook.services.maintenance.data_directory import DataDirectory
from minutebook.store.protocol import Tended

if TYPE_CHECKING:
    from minutebook.services.ledger.locator import LedgerFolders
    from minutebook.services.ledger.secret_place import SecretPlace
    from minutebook.services.maintenance.doctor import Finding
    from minutebook.services.maintenance.encryption import Encryption
    from minutebook.services.maintenance.scheduled_backups import Schedule


def data_directory(settings: Settings) -> DataDirectory:
    """Return the data directory of these settings, with what in it can be made again."""
    archives = Roots(settings.archive_roots, default_organization(settings.caller())).all()
    copies = (*(archives or (settings.backups,)), settings.scheduled_backups)
    return DataDirectory(
        settings.database,
        settings.claims,
        (settings.server_index, settings.models),
        tuple(dict.fromkeys(copies)),
        keys=place_of(settings.key),
        is_on_server=settings.store is not None,
    )


def encryption_of(settings: Settings) -> "Encryption":
    """Return what encrypts the data directory of these settings."""
    from minutebook.services.maintenance.encryption import Encryption

    return Encryption(data_directory(settings), place_of(settings.key), sync_folder(settings))


def damage_of(settings: Settings) -> "list[Finding]":
    """Return what is lost of a damaged or lost file of a store, and which backups bring it back."""
    from minutebook.services.maintenance.backups import MOST_KNOWN, known_backups
    from minutebook.services.maintenance.doctor import of_damage
    from minutebook.store.sqlite import damage
    from minutebook.store.sqlite.encryption import key_of

    if settings.store is not None:
        return []
    backups = known_backups(data_directory(settings))[:MOST_KNOWN]
    key = key_of(settings.database, place_of(settings.key))
    return of_damage(damage.losses(settings.database, key), backups)


def repos_of(settings: Settings) -> "LedgerFolders":
    """Tell where the ledgers are that these settings name."""
    from minutebook.services.ledger.locator import LedgerFolders

    home = default_organization(settings.caller())
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A process of a user whom the system has no name for.
        user = ANYBODY
    return LedgerFolders(
        settings.ledgers,
        home,
        settings.ledger,
        settings.durability,
        user,
        are_shared=settings.store is not None,
        machine=socket.gethostname(),
    )


def sync_folder(settings: Settings) -> Path:
    """Return the folder for copies of remotes and files on their way; all in it can be made again."""
    return settings.home / ".sync"


def machine_name() -> str:
    """Return the name by which people know this machine."""
    return socket.gethostname()


def secret_place_of(settings: Settings, store: Tended) -> "SecretPlace":
    """Return where the approval secret is kept: in what servers share, or else in the data directory."""
    from minutebook.services.ledger.secret_place import SecretFile, SharedSecret

    if store.shared_values is None:
        return SecretFile(settings.secret)
    return SharedSecret(store.shared_values, store.place)


def ledger_key_place_of(settings: Settings, store: Tended) -> "SecretPlace":
    """Return where the key of this store's commits is kept: in what servers share, or else in the data directory."""
    from minutebook.services.ledger.secret_place import SecretFile, SharedSecret

    if store.shared_values is None:
        return SecretFile(settings.ledger_key, "the key of this store's commits")
    return SharedSecret(store.shared_values, store.place, "ledger_key")


def schedule_of(settings: Settings) -> "Schedule | None":
    """Return the schedule of backups that these settings state; a store on a server has its own."""
    from minutebook.services.maintenance.scheduled_backups import Schedule

    if settings.store is not None:
        return None
    every = timedelta(hours=settings.backup_every) if settings.backup_every else None
    return Schedule(every, settings.scheduled_backups, settings.backup_keep)
