"""Open the store that the settings name: a file in the data directory, or a database on a server."""

from pathlib import Path

from minutebook.config import Settings
from minutebook.config.subjects import scheme_of
from minutebook.feature import engines, entries_of
from minutebook.record.errors import InvalidInput
from minutebook.store.disk.keys import place_of
from minutebook.store.file_locks import FileLocks
from minutebook.store.leases import LeaseLocks
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Tended
from minutebook.store.sql.transfer import being_filled
from minutebook.store.sqlite import SqliteStore, missing_database

WRITER_WAIT = 30.0
"""Seconds to wait for another process that is writing."""


def open_store(settings: Settings, *, or_reads: bool = False) -> Tended:
    """Open the store of these settings, on a server or in the data directory; make it if it is missing.

    With `or_reads` a file that cannot be written is opened read-only. Raises StoreError if it cannot be
    opened as a store of this version, InvalidInput if the libraries for a server are not installed.
    """
    if settings.store is not None:
        return store_at(settings, settings.store)
    return file_store(settings, or_reads=or_reads)


def file_store(
    settings: Settings, *, receives: bool = False, or_reads: bool = False
) -> SqliteStore:
    """Open the store in the data directory; with `receives`, to move records into it, even if its database was lost.

    Raises StoreError, unless it `receives`, if an earlier move into an empty directory did not complete.
    """
    if not receives and moving_mark(settings).exists():
        raise being_filled(str(settings.database))
    return SqliteStore(
        settings.database,
        durability=settings.durability,
        writer_wait=WRITER_WAIT,
        beside=() if receives else _beside(settings),
        receives=receives,
        keys=place_of(settings.key),
        or_reads=or_reads,
    )


def moving_mark(settings: Settings) -> Path:
    """Return the file that marks a data directory without a store as the target of an unfinished move."""
    return settings.home / ".moving"


def locks_of(settings: Settings, store: Tended) -> NamedLocks:
    """Return the named locks of all processes of a store: in it if it is on a server, else in files beside it."""
    leases = store.database.leases
    return FileLocks(settings.claims) if leases is None else LeaseLocks(leases)


def check_not_lost(settings: Settings) -> None:
    """Raise StoreLost if the database is missing or empty although a store was kept in it."""
    if settings.store is None:
        missing_database.check_not_lost(settings.database, _beside(settings))


def store_at(settings: Settings, address: str, *, receives: bool = False) -> Tended:
    """Open the store at an address, by the engine of its scheme. Raises InvalidInput, StoreError."""
    feature, name = engines()[scheme_of(address)]
    try:
        opened = feature.load(name)
    except ImportError as error:
        # The libraries of servers are an extra.
        raise InvalidInput(
            "store", "needs `pip install minutebook[server]` ({error})", error=error
        ) from error
    store: Tended = opened(settings, address, receives=receives)
    return store


def _beside(settings: Settings) -> tuple[Path, ...]:
    """Return the files in a data directory that exist only if there was a store."""
    return tuple(path for beside in entries_of("files.beside") for path in beside(settings))
