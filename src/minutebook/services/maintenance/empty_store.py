"""Begin an empty store in the place of one that is damaged or lost."""

from datetime import datetime
from pathlib import Path

from minutebook.domain.errors import StoreError
from minutebook.services.maintenance.data_directory import ON_SERVER, DataDirectory
from minutebook.store.sqlite import SqliteStore, missing_database


def start_anew(directory: DataDirectory, now: datetime) -> Path:
    """Put aside the remains of a database and begin an empty store; return the folder with the remains.

    If the database was encrypted, the new one is, with the same key. Ledgers, settings and secret stay.
    Raises StoreBusy if others use the data directory, StoreError if the store is on a server.
    """
    if directory.is_on_server:
        raise StoreError(ON_SERVER)
    with directory.alone():
        key = directory.key()
        aside = directory.folder_aside(now)
        missing_database.put_aside(directory.database, aside)
    SqliteStore(directory.database, new_key=key).close()
    return aside
