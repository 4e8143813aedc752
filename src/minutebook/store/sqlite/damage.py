"""The readable remains of a damaged database."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import apsw

from minutebook.store.disk.encryption import Key
from minutebook.store.sql.tables import ALL_TABLES, Table
from minutebook.store.sqlite.encryption import connect

MOST_LINES = 10
"""How many of SQLite's own findings are told."""


def losses(path: Path, key: Key | None) -> Iterator[str]:
    """Yield the faults of a database file and how much of it can be read, a sentence each.

    Changes nothing. Of a file that is missing or empty there is nothing to say.
    """
    if not path.exists() or not path.stat().st_size:
        return
    with closing(connect(path, key, apsw.SQLITE_OPEN_READONLY)) as connection:
        try:
            readable = connection.execute("SELECT count(*) FROM sqlite_schema").get
        except apsw.Error as error:
            readable, reason = 0, str(error)
        else:
            reason = "its tables are gone"
        if not readable:
            yield f"no record can be read: {reason}"
            return
        yield from _pages(connection)
        for table in ALL_TABLES:
            yield from _rows(connection, table)


def _pages(connection: apsw.Connection) -> Iterator[str]:
    """Yield SQLite's findings on the file's pages."""
    try:
        lines = (str(line) for (line,) in connection.execute("PRAGMA integrity_check"))
        for line in islice((line for line in lines if line != "ok"), MOST_LINES):
            yield f"the database is damaged: {' '.join(line.split())}"
    except apsw.CorruptError as error:
        yield f"the database is damaged: {error}"


def _rows(connection: apsw.Connection, table: Table) -> Iterator[str]:
    """Tell how many rows of a table can be read, if not all can: from both ends to the damage."""
    counts = []
    for direction in ("", " DESC"):
        key = "row" + direction if table.has_text else f"organization{direction}, id{direction}"
        counted, error = _count(connection, table, key)
        counts.append(counted)
        if error is None:
            return
    known = _known(connection, table)
    of = "" if known is None else f" of {known:,}"
    yield f"{table.name}: {min(sum(counts), known or sum(counts)):,}{of} can still be read"


def _count(connection: apsw.Connection, table: Table, key: str) -> tuple[int, apsw.Error | None]:
    counted = 0
    try:
        for _ in connection.execute(
            f"SELECT {table.fields} FROM {table.name} AS r ORDER BY {key}"  # noqa: S608
        ):
            counted += 1
    except apsw.Error as error:
        return counted, error
    return counted, None


def _known(connection: apsw.Connection, table: Table) -> int | None:
    """Count a table's rows by an index, which may be whole where the table is not."""
    try:
        known: int = connection.execute(
            f"SELECT count(*) FROM {table.name} INDEXED BY {table.name}_by_sequence"  # noqa: S608
        ).get
    except apsw.Error:
        return None
    return known
