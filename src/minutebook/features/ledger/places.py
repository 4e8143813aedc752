"""Where the settings put ledgers, the secret that accepts proposals, and the key of this store's commits."""

import getpass
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.config import Settings
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.record.caller import ANYBODY
from minutebook.record.filters import Filter, default_organization
from minutebook.record.records import LedgerMark
from minutebook.store.protocol import Tended

if TYPE_CHECKING:
    from minutebook.features.ledger.keys.secret_place import SecretPlace
    from minutebook.features.ledger.locator import LedgerFolders


def ledger_folders(settings: Settings) -> "LedgerFolders":
    """Return where the settings put the ledgers, with the user of this process."""
    from minutebook.features.ledger.locator import LedgerFolders

    home = default_organization(settings.caller())
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A process of a user whom the system has no name for.
        user = ANYBODY
    return LedgerFolders(
        settings.of(LedgerSettings).ledgers,
        home,
        settings.of(LedgerSettings).ledger,
        settings.durability,
        user,
        are_shared=settings.store is not None,
        machine=socket.gethostname(),
    )


def secret_place_of(app: App) -> "SecretPlace":
    """Return where the hash of the approval secret is kept."""
    return _place(app, app.settings.of(LedgerSettings).secret, "secret", "the secret")


def ledger_key_place_of(app: App) -> "SecretPlace":
    """Return where the key is kept with which this store proves its commits."""
    path = app.settings.of(LedgerSettings).ledger_key
    return _place(app, path, "ledger_key", "the key of this store's commits")


def _place(app: App, path: Path, name: str, content: str) -> "SecretPlace":
    """Return the shared value `name` if servers share the store, else the file; `content` names it in errors."""
    from minutebook.features.ledger.keys.secret_place import SecretFile, SharedSecret

    database = app.infrastructure.store.database
    if database.shared_values is None:
        return SecretFile(path, content)
    return SharedSecret(database.shared_values, database.place, name)


def files_beside_store(settings: Settings) -> Iterable[Path]:
    """Yield the files of this feature in a data directory that exist only if there was a store."""
    yield settings.of(LedgerSettings).ledgers
    yield settings.of(LedgerSettings).secret


def on_move(settings: Settings, store: Tended, *, is_to_server: bool) -> Iterable[str]:
    """Yield the steps for a person by which the ledgers and the secret follow a store that was moved."""
    own = settings.of(LedgerSettings)
    has_decisions = any(
        store.count(LedgerMark, Filter(organization=name)) for name in store.organizations()
    )
    if has_decisions and is_to_server:
        yield (
            "Decisions stand in Git, too: servers record them in one folder, which each mounts as "
            f"`ledgers` in its data directory. Move {own.ledgers} there, or let this machine record them."
        )
    elif has_decisions and not own.ledgers.is_dir() and own.ledger is None:
        yield (
            "Decisions stand in Git, too: copy the folder `ledgers` of the server that recorded them "
            f"to {own.ledgers}."
        )
    if is_to_server and own.secret.exists():
        yield (
            "The secret that accepts proposals is one for all servers: pin it there by "
            "`minutebook ledger secret --role admin`."
        )
