"""The formats of the tables: the first in `schema.sql`, and the scripts from each format to the next."""

from pathlib import Path

import apsw

from minutebook.record.errors import StoreError, StoreTooNew
from minutebook.store.sql import side_tables
from minutebook.store.sqlite.errors import damaged
from minutebook.store.sqlite.statements import SqliteConnection

APPLICATION_ID = 0x4D69_426F
"""`MiBo`: marks a file as one of ours, see `PRAGMA application_id`."""

_BEFORE_RELEASE = 0x4D42_6F6F
"""The mark of files that versions before the first release made, with formats of their own."""

SCRIPTS: tuple[str, ...] = (Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"),)
"""Script n leads from format n to format n + 1, the first to a new file; a released one never changes."""

FORMAT = len(SCRIPTS)


def is_current(connection: apsw.Connection, path: Path) -> bool:
    """Tell whether the tables have the present format.

    Raises StoreError if the file belongs to another program, is of a version before the first release or
    is damaged, StoreTooNew if a later version wrote it.
    """
    found = connection.pragma("user_version")
    mark = connection.pragma("application_id")
    if mark == _BEFORE_RELEASE:
        raise StoreError(
            "{path}: a version before the first release made this store, and none since reads it; take its "
            "memories out by `minutebook export --format markdown` of that version, and name another file. "
            "Nothing was changed",
            path=path,
        )
    if mark != APPLICATION_ID and _holds_anything(connection):
        raise StoreError(
            "{path}: this database belongs to another program; name another file", path=path
        )
    if found > FORMAT:
        raise StoreTooNew(
            "{path}: the store has format {found}, this version of Minutebook reads up to {format}; upgrade "
            "Minutebook, or name another file. Nothing was changed",
            path=path,
            found=found,
            format=FORMAT,
        )
    if found == FORMAT and not _holds_anything(connection):
        raise damaged("{path}: the file is damaged: its tables are gone", path=path)
    return bool(found == FORMAT) and not side_tables.missing_statements(
        SqliteConnection(connection), path
    )


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Bring the tables to the present format, inside the caller's transaction. Raises StoreTooNew if they have a later one."""
    for script in SCRIPTS[connection.pragma("user_version") :]:
        for _ in connection.execute(script):
            pass
    for statement in side_tables.missing_statements(SqliteConnection(connection), path):
        connection.execute(statement)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", FORMAT)


def _holds_anything(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get)
