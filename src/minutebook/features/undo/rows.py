"""The table of images: records as they were before acts."""

from collections.abc import Sequence
from datetime import datetime

from minutebook.record.json_lines import line_of, object_of, record_of
from minutebook.record.records import Record
from minutebook.store.sql.database import Database
from minutebook.store.sql.side_tables import SideTable, SideTables
from minutebook.store.sql.tables import microseconds, value_text

_IMAGES = SideTable(
    "undo_images",
    "organization integer, entry integer, kind name, id name, at instant, record images",
    key="organization, entry, kind, id",
    indices={"by_at": "(organization, at)", "by_id": "(organization, id)"},
)

TABLES = SideTables((_IMAGES,))


_BATCH = 500


class ImageRows:
    """The images of records by the number of the entry; inside a transaction of the store, a write is part of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, organization: str, entry: int, at: datetime, records: Sequence[Record]) -> None:
        """Store records as they were before an entry."""
        if not records:
            return
        with self._database.writing(organization) as (connection, key):
            connection.run_many(
                "INSERT INTO undo_images (organization, entry, kind, id, at, record)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (key, entry, each.kind, each.id, microseconds(at), line_of(each).decode())
                    for each in records
                ],
            )

    def images_of(self, organization: str, entries: Sequence[int]) -> list[tuple[int, Record]]:
        """Return the images of some entries, each with the number of its entry."""
        found: list[tuple[int, Record]] = []
        key = self._database.number_of(organization)
        with self._database.reading() as connection:
            for start in range(0, len(entries), _BATCH):
                some = entries[start : start + _BATCH]
                marks = ", ".join("?" * len(some))
                rows = connection.rows(
                    "SELECT entry, record FROM undo_images WHERE organization = ?"  # noqa: S608
                    f" AND entry IN ({marks})",
                    (key, *some),
                )
                found += [(number, _record(line)) for number, line in rows]
        return found

    def latest(self, organization: str, id: str) -> Record | None:
        """Return a record as it was before the latest act on it; None if there is no image of it."""
        key = self._database.number_of(organization)
        with self._database.reading() as connection:
            rows = connection.rows(
                "SELECT record FROM undo_images WHERE organization = ? AND id = ?"
                " ORDER BY entry DESC LIMIT 1",
                (key, id),
            )
        return _record(rows[0][0]) if rows else None

    def set_at(self, organization: str, entries: Sequence[int], at: datetime) -> None:
        """Set the instant from which the day is counted for which the images of some entries are kept."""
        with self._database.writing(organization) as (connection, key):
            connection.run_many(
                "UPDATE undo_images SET at = ? WHERE organization = ? AND entry = ?",
                [(microseconds(at), key, each) for each in entries],
            )

    def prune(self, organization: str, before: datetime) -> None:
        """Remove an organization's images that are older than an instant."""
        expired = "FROM undo_images WHERE organization = ? AND at < ?"
        values = (self._database.number_of(organization), microseconds(before))
        with self._database.reading() as connection:
            if not connection.rows(f"SELECT 1 {expired} LIMIT 1", values):
                return
        with self._database.writing(organization) as (connection, _):
            connection.run(f"DELETE {expired}", values)


def _record(line: object) -> Record:
    return record_of(object_of(value_text(line).encode()))
