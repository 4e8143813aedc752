"""The remains of removed rows on the server: rewrite the tables, and read all that is in them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import Connection as AnyConnection
from psycopg import sql
from psycopg.errors import Diagnostic

from minutebook.features.postgres.statements import Raw

_TABLES = """
SELECT c.relname, pg_relation_filenode(c.oid) FROM pg_class AS c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY 1
"""


def rewrite_tables(connection: Raw) -> Iterator[str]:
    """Have the server rewrite each table and its indices; yield a sentence for each that still has removed rows.

    Each table is locked meanwhile. Raises LockNotAvailable if one is in use for too long.
    """
    before = _tables(connection)
    kept = {name: _vacuum(connection, name) for name in before}
    after = _tables(connection)
    for name, file in before.items():
        if after.get(name) == file:
            yield (
                f"the server did not write the table {name} anew: its owner must run VACUUM FULL, or grant that "
                "to the user of the setting `store`"
            )
        elif kept[name]:
            yield (
                f"the table {name} keeps {kept[name]:,} removed rows for a transaction that is open: end that, then "
                "run `minutebook erase --deleted --rewrite-tables`"
            )


def contents(connection: Raw) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield each table with blocks of its content, as the server sends it: texts as UTF-8, bytes unchanged."""
    for name in _tables(connection):
        yield name, _copied(connection, name)


def _copied(connection: Raw, name: str) -> Iterator[bytes]:
    reading = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)")
    with connection.cursor().copy(reading.format(sql.Identifier(name))) as copy:
        for block in copy:
            yield bytes(block)


def _tables(connection: Raw) -> dict[str, int]:
    """Return the tables, each with the number of its file on the server."""
    return {str(name): int(file or 0) for name, file in connection.execute(_TABLES)}


def _vacuum(connection: Raw, name: str) -> int:
    """Rewrite a table; return the number of removed rows that are still in it."""
    with _notices(connection) as details:
        connection.execute(sql.SQL("VACUUM (FULL, VERBOSE) {}").format(sql.Identifier(name)))
    # The details are in the server's language; each begins with the number.
    numbers = (re.match(r"\d+", each) for each in details)
    return sum(int(number[0]) for number in numbers if number is not None)


@contextmanager
def _notices(connection: AnyConnection) -> Iterator[list[str]]:
    """Yield a list to which the details of the server's notices are added."""
    details: list[str] = []

    def note(notice: Diagnostic) -> None:
        if notice.message_detail:
            details.append(notice.message_detail)

    connection.add_notice_handler(note)
    try:
        yield details
    finally:
        connection.remove_notice_handler(note)
