"""The sync state of a database, by remote, in two tables."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from minutebook.record.records import Key, Kind
from minutebook.store.sql.database import Database
from minutebook.store.sql.side_tables import SideTable, SideTables
from minutebook.store.sql.tables import value_text

# Deletions are kept, because they are still to be sent to other machines.
_MARKS = SideTable(
    "sync_marks", "remote name, marks name", key="remote", indices={}, keeps_deletions=True
)

# `organization` is a name here, because other machines have other numbers.
_ROWS = SideTable(
    "sync_rows",
    "remote name, organization name, kind name, id name, digest name, file integer, state name",
    key="remote, organization, kind, id",
    indices={"by_file": "(remote, file) WHERE file <> 0"},
)

TABLES = SideTables((_MARKS, _ROWS))


_FIELDS = "organization, kind, id, digest, state, file"
_BATCH = 500
_ALL = 1 << 62

UNSENT = -1
"""The `file` of a row with edits that are in no file yet."""

SENT = 0
"""The `file` of a row without edits to be sent."""


@dataclass(frozen=True, slots=True)
class SyncRow:
    """The sync state of a record in one remote: the digest of the record here, and its state as JSON.

    `file` is the number of the file in which its edit is being sent, or SENT or UNSENT.
    """

    key: Key
    digest: str
    state: str
    file: int


class SyncRows:
    """The sync state of each remote, named by the remote's identity, in tables of the database.

    Inside a transaction of the store, writes are part of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def remotes(self) -> list[str]:
        """Return the ids of the known remotes."""
        return [str(name) for (name,) in self._read("SELECT remote FROM sync_marks ORDER BY 1")]

    def marks(self, remote: str) -> dict[str, Any]:
        """Return the marks of a remote; empty for a new one."""
        rows = self._read("SELECT marks FROM sync_marks WHERE remote = ?", remote)
        noted: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return noted

    def put_marks(self, remote: str, marks: dict[str, Any]) -> None:
        """Store the marks of a remote, replacing the last ones."""
        self._write(
            "INSERT INTO sync_marks VALUES (?, ?) ON CONFLICT (remote) DO UPDATE SET marks = EXCLUDED.marks",
            *(remote, json.dumps(marks)),
        )

    def get(self, remote: str, key: Key) -> SyncRow | None:
        """Return the sync state of a record; None if it has none."""
        query = (
            f"SELECT {_FIELDS} FROM sync_rows"  # noqa: S608
            " WHERE remote = ? AND organization = ? AND kind = ? AND id = ?"
        )
        rows = self._read(query, remote, key[0], str(key[1]), key[2])
        return _row(rows[0]) if rows else None

    def put(self, remote: str, row: SyncRow) -> None:
        """Store the sync state of a record."""
        organization, kind, id = row.key
        self._write(
            "INSERT INTO sync_rows VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (remote, organization, kind, id)"
            " DO UPDATE SET digest = EXCLUDED.digest, file = EXCLUDED.file, state = EXCLUDED.state",
            *(remote, organization, str(kind), id),
            *(row.digest, row.file, row.state),
        )

    def unsent(self, remote: str, limit: int) -> list[SyncRow]:
        """Return rows with edits that are in no file yet, by key, at most `limit`."""
        return self._in_file(remote, UNSENT, limit)

    def sending(self, remote: str, file: int) -> list[SyncRow]:
        """Return the rows with edits that are being sent in a file, by key."""
        return self._in_file(remote, file, _ALL)

    def sent(self, remote: str, file: int) -> None:
        """Note that a file has arrived, so that its rows have no edits to be sent."""
        self._write(
            f"UPDATE sync_rows SET file = {SENT} WHERE remote = ? AND file = ? AND file <> 0",  # noqa: S608
            remote,
            file,
        )

    def each(self, remote: str) -> Iterator[SyncRow]:
        """Yield the sync state of every record, by key, with few of them in memory."""
        after: tuple[Any, ...] = ("", "", "")
        while True:
            rows = self._read(
                f"SELECT {_FIELDS} FROM sync_rows WHERE remote = ?"  # noqa: S608
                f" AND (organization, kind, id) > (?, ?, ?) ORDER BY organization, kind, id LIMIT {_BATCH}",
                remote,
                *after,
            )
            yield from map(_row, rows)
            if len(rows) < _BATCH:
                return
            after = rows[-1][:3]

    def _in_file(self, remote: str, file: int, limit: int) -> list[SyncRow]:
        query = (
            f"SELECT {_FIELDS} FROM sync_rows WHERE remote = ? AND file = ? AND file <> 0"  # noqa: S608
            " ORDER BY organization, kind, id LIMIT ?"
        )
        return [_row(row) for row in self._read(query, remote, file, limit)]

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._database.reading() as connection:
            return connection.rows(query, values)

    def _write(self, statement: str, *values: Any) -> None:
        with self._database.writing_outside_feed() as connection:
            connection.run(statement, values)


def _row(row: tuple[Any, ...]) -> SyncRow:
    organization, kind, id, digest, state, file = row
    return SyncRow((value_text(organization), Kind(kind), value_text(id)), digest, state, file)
