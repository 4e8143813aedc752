"""The format of the tables: `schema.sql` makes the first, each further script leads to the next.

A cluster runs the scripts too; `docs/decisions/0035-cluster.md` says what a script may not do.
"""

import re
from contextlib import suppress
from pathlib import Path

from psycopg import Connection, errors

from minutebook.features.postgres import distribution
from minutebook.features.postgres.statements import PostgresConnection
from minutebook.record.errors import StoreError, StoreTooNew
from minutebook.store.sql import side_tables

LEAST_SERVER = 160000
"""The earliest version of PostgreSQL with which the engine is tested, in the server's numbering."""

SCRIPTS: tuple[str, ...] = (Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"),)
"""Script n leads from format n to format n + 1; the first makes a new database. A released script never changes."""

FORMAT = len(SCRIPTS)


def prepare(connection: Connection, place: str) -> None:
    """Bring the tables to the present format, unless they have it; other processes wait meanwhile.

    Raises StoreTooNew if a later version wrote them. Raises StoreError if a version before the first release did,
    if the server is too old, if the database's encoding is not UTF-8, or if it holds another program's tables.
    """
    if connection.info.server_version < LEAST_SERVER:
        raise StoreError(
            "{place}: the server is PostgreSQL {version}; Minutebook needs {least} or later",
            place=place,
            version=connection.info.server_version // 10000,
            least=LEAST_SERVER // 10000,
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        reason = "{place}: the database keeps texts as {encoding}; make one with ENCODING 'UTF8'"
        raise StoreError(reason, place=place, encoding=encoding)
    if _is_current(connection, place):
        return
    # Of several processes that find an empty database, one makes the table; then all wait for its row.
    with suppress(errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateObject):
        connection.execute(
            "CREATE TABLE IF NOT EXISTS format (one boolean PRIMARY KEY, number integer NOT NULL)"
        )
    connection.execute("INSERT INTO format VALUES (TRUE, 0) ON CONFLICT DO NOTHING")
    with connection.transaction():
        connection.execute("SELECT number FROM format FOR UPDATE")
        if not _is_current(connection, place):
            distribution.begin_change(connection, place)
            for script in SCRIPTS[_format(connection, place) :]:
                for statement in _statements(script):
                    connection.execute(statement.encode())
            for statement in side_tables.missing_statements(PostgresConnection(connection), place):
                connection.execute(statement.encode())
            distribution.place_new(connection, place)
        connection.execute("UPDATE format SET number = %s", (FORMAT,))


def _statements(script: str) -> list[str]:
    """Return the statements of a script one by one, as a cluster needs them; each type `text` sorts by code point."""
    without_comments = re.sub(r"--.*", "", script)
    sorted_plainly = re.sub(r" text\b", ' text COLLATE "C"', without_comments)
    return [each for each in sorted_plainly.split(";") if each.strip()]


def _is_current(connection: Connection, place: str) -> bool:
    """Tell whether the tables have the present format. Raises StoreTooNew or StoreError."""
    found = connection.execute(
        "SELECT count(*) FILTER (WHERE relname = 'format'), count(*) FROM pg_class"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    ).fetchone()
    has_format, tables = found or (0, 0)
    if tables and not has_format:
        raise StoreError(
            "{place}: this database holds another program's tables; name an empty one", place=place
        )
    number = _format(connection, place) if has_format else 0
    if number > FORMAT:
        raise StoreTooNew(
            "{place}: the store has format {number}, this version of Minutebook reads up to {format}; upgrade "
            "Minutebook, or name another database. Nothing was changed",
            place=place,
            number=number,
            format=FORMAT,
        )
    return number == FORMAT and not side_tables.missing_statements(
        PostgresConnection(connection), place
    )


def _format(connection: Connection, place: str) -> int:
    """Return the format of the tables, 0 if there are none yet. Raises StoreError if no release has that format."""
    found = connection.execute("SELECT to_jsonb(f) ->> 'number' FROM format AS f").fetchone()
    if found is None:
        return 0
    (number,) = found
    if number is None:
        raise StoreError(
            "{place}: a version before the first release made this store, and none since reads it; take its "
            "memories out by `minutebook export --format markdown` of that version, and name another database. "
            "Nothing was changed",
            place=place,
        )
    return int(number)
