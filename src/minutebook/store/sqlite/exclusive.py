"""Exclusive access to a database, so that its file can be replaced."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from minutebook.record.errors import StoreBusy
from minutebook.store.disk.encryption import Key
from minutebook.store.sqlite.encryption import IN_USE, connect
from minutebook.store.sqlite.errors import translate_errors


@contextmanager
def exclusive_access(path: Path, key: Key | None) -> Iterator[None]:
    """Lock a database inside the block, with its write-ahead log copied into the one file.

    If the block fails, the database stays as it was. Raises StoreBusy if another process or
    thread has it open.
    """
    with translate_errors(path), closing(connect(path, key, apsw.SQLITE_OPEN_READWRITE)) as mine:
        try:
            # Leaving WAL mode succeeds only if no other connection has the file open.
            mine.pragma("journal_mode", "delete")
            mine.execute("BEGIN EXCLUSIVE")
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy("{path}: {cause}", path=path, cause=IN_USE) from error
        try:
            yield
        except BaseException:
            mine.execute("ROLLBACK")
            mine.pragma("journal_mode", "wal")
            raise
