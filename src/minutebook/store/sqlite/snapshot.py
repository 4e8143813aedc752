"""The whole file as it was at one moment."""

from contextlib import closing
from pathlib import Path

import apsw

from minutebook.disk.encryption import Key
from minutebook.store.sqlite.encryption import connect
from minutebook.store.sqlite.errors import translate_errors


class SqliteMoment:
    """A `Moment` on a connection that is inside a reading transaction."""

    def __init__(self, connection: apsw.Connection, key: Key | None) -> None:
        self._connection = connection
        self._key = key

    def copy_to(self, path: Path) -> None:
        """Copy the whole database to a new file, under the same key. Raises StoreError if it cannot be written."""
        with translate_errors(path), closing(connect(path, self._key)) as copy:
            # A caller who needs the copy on the disk syncs it once it is whole.
            copy.pragma("synchronous", "off")
            with copy.backup("main", self._connection, "main") as backup:
                backup.step()
