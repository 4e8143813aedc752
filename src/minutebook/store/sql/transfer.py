"""Whether records are being moved into a database: nobody else may open it meanwhile."""

from minutebook.record.errors import StoreError
from minutebook.store.sql.database import Connection, Database


def check_whole(database: Database, *, receives: bool) -> None:
    """Raise StoreError if records are being moved into a database by another process."""
    with database.committed() as connection:
        noted = source_of(connection)
    if noted is not None and not noted[1] and not receives:
        raise being_filled(database.place)


def being_filled(place: str) -> StoreError:
    """Return the error for opening a store into which records are still being moved."""
    reason = "{place}: records are being moved here, or a move was cut short; the same `minutebook migrate` ends it"
    return StoreError(reason, place=place)


def source_of(connection: Connection) -> tuple[str, bool] | None:
    """Return the identity of the store from which records were moved here, if any, and whether that has ended."""
    row = connection.row("SELECT source, ended FROM migration")
    return None if row is None else (str(row[0]), bool(row[1]))
