"""The readable remains of a damaged database."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import apsw

from minutebook.store.disk.encryption import Key
from minutebook.store.sql.tables import ALL_TABLES, Table
from minutebook.store.sqlite.encryption import connect

MOST_FINDINGS = 10
"""The most findings of SQLite that are reported."""


def losses(path: Path, key: Key | None) -> Iterator[str]:
    """Yield the faults of a database file and how much of it can be read, a sentence each.

    Changes nothing. Yields nothing for a file that is missing or empty.
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
        yield from islice(page_faults(connection), MOST_FINDINGS)
        for table in ALL_TABLES:
            yield from _rows(connection, table)


def page_faults(connection: apsw.Connection) -> Iterator[str]:
    """Yield the faults that SQLite's own check of pages, indices and text indices finds, a sentence each."""
    try:
        for (line,) in connection.execute("PRAGMA integrity_check"):
            if line != "ok":
                yield f"the database is damaged: {' '.join(line.split())}"
    except apsw.CorruptError as error:
        yield f"the database is damaged: {error}"


def _rows(connection: apsw.Connection, table: Table) -> Iterator[str]:
    """Yield how many rows of a table can be read, from both ends to the damage; nothing if all can."""
    counts = []
    for direction in ("", " DESC"):
        key = "row" + direction if table.has_text else f"organization{direction}, id{direction}"
        counted, error = _count(connection, table, key)
        counts.append(counted)
        if error is None:
            return
    known = _known(connection, table)
    total = "" if known is None else f" of {known:,}"
    yield f"{table.name}: {min(sum(counts), known or sum(counts)):,}{total} can still be read"


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
    """Return the number of a table's rows by an index, which may be sound if the table is not; None if it is damaged too."""
    try:
        known: int = connection.execute(
            f"SELECT count(*) FROM {table.name} INDEXED BY {table.name}_by_sequence"  # noqa: S608
        ).get
    except apsw.Error:
        return None
    return known
