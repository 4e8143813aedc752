"""Reads the SQLite files of other programs, which may be hostile; never writes them."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from minutebook.record.errors import StoreError

LONGEST_VALUE = 16 * 2**20
"""The most bytes of a value that SQLite may return."""


class ForeignDatabase:
    """Reads tables of a SQLite file, while its program may write to it."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises StoreError if it is not a readable SQLite file."""
        try:
            # The write-ahead log beside it may hold the latest rows; they are missed if the folder cannot be written.
            name = f"file:{quote(path.as_posix())}?mode=ro"
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
            self._connection = apsw.Connection(name, flags)
            self._connection.setbusytimeout(5000)
            self._connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            for option in (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, apsw.SQLITE_DBCONFIG_ENABLE_VIEW):
                self._connection.config(option, 0)
            self._connection.pragma("cell_size_check", 1)
            self._tables = self._read_tables()
        except apsw.Error as error:
            raise StoreError(
                "it is no SQLite file that can be read: {error}", error=error
            ) from error

    def columns(self, table: str) -> list[str]:
        """Return the names of a table's columns; none if there is no such table."""
        return self._tables.get(table, [])

    def rows(
        self, table: str, columns: Sequence[str], order: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as values by column, with those columns that it has, sorted by `order` if it has it.

        Raises StoreError if the file is damaged.
        """
        known = [name for name in columns if name in self.columns(table)]
        if not known:
            return
        listed = ", ".join(map(_quoted, known))
        sorted_by = f" ORDER BY {_quoted(order)}" if order in known else ""
        statement = f"SELECT {listed} FROM {_quoted(table)}{sorted_by}"  # noqa: S608 - quoted names
        try:
            with closing(self._connection.cursor()) as cursor:
                for row in cursor.execute(statement):
                    yield dict(zip(known, row, strict=True))
        except (apsw.Error, UnicodeDecodeError) as error:
            raise StoreError(
                "the table {table} cannot be read to its end: {error}", table=table, error=error
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _read_tables(self) -> dict[str, list[str]]:
        names = (
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        )
        columns = "SELECT name FROM pragma_table_info(?)"
        return {
            str(name): [str(row[0]) for row in self._connection.execute(columns, (name,))]
            for (name,) in self._connection.execute(names).fetchall()
        }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
