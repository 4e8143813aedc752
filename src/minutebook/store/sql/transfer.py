"""A database into which records are being moved, which nobody else may open until the move has ended."""

from typing import NamedTuple

from minutebook.record.errors import StoreError
from minutebook.store.sql.database import Connection, Database


class Move(NamedTuple):
    """A move of records into a database: the identity of the source, and whether it has ended."""

    source: str
    has_ended: bool


def check_whole(database: Database, *, receives: bool) -> None:
    """Raise StoreError if records are being moved into a database by another process."""
    with database.committed() as connection:
        move = move_of(connection)
    if move is not None and not move.has_ended and not receives:
        raise being_filled(database.place)


def being_filled(place: str) -> StoreError:
    """Return the error for opening a store into which records are still being moved."""
    reason = "{place}: records are being moved here, or a move was cut short; the same `minutebook migrate` ends it"
    return StoreError(reason, place=place)


def move_of(connection: Connection) -> Move | None:
    """Return the move of records into a database; None if there was none."""
    row = connection.row("SELECT source, ended FROM migration")
    return None if row is None else Move(str(row[0]), bool(row[1]))
