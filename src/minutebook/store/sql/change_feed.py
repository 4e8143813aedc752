"""The change feed of each organization: every change of a record takes the next sequence."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minutebook.record.records import Kind
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.tables import ALL_TABLES, value_text
from minutebook.store.values import Change

_WAIT = 2.0
"""Seconds for which writing a mark waits for other writers of the same file."""


class ProgramMarks:
    """Named values of an organization, JSON objects in the table `marks`; any thread may call each member."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def marks_of(self, organization: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the marks of an organization by name."""
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            rows = connection.rows(
                "SELECT name, noted FROM marks WHERE organization = ?", (number,)
            )
        return {value_text(name): json.loads(value_text(noted)) for name, noted in rows}

    def put(self, organization: str, name: str, noted: Mapping[str, Any]) -> None:
        """Write a mark, replacing the one of its name; an empty one removes it. Raises StoreError if that fails."""
        with self._database.writing_outside_feed(_WAIT) as connection:
            number = self._database.number_for_writing(organization)
            connection.run("DELETE FROM marks WHERE organization = ? AND name = ?", (number, name))
            if noted:
                connection.run(
                    "INSERT INTO marks (organization, name, noted) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (number, name, json.dumps(dict(noted))),
                )


_ALL = 1 << 62


def note_deletions(connection: Connection, number: int, kind: Kind, ids: Sequence[str]) -> None:
    """Note in the change feed that records were removed."""
    if ids:
        first = connection.draw_sequences(number, len(ids))
        connection.run_many(
            "INSERT INTO deletions (organization, kind, id, sequence) VALUES (?, ?, ?, ?)",
            [(number, kind, id, sequence) for sequence, id in enumerate(ids, first)],
        )


def forget_deletions(connection: Connection, number: int, kind: Kind, ids: Sequence[str]) -> None:
    """Remove the notes that records were removed, as they are there again."""
    condition, values = connection.among("id", ids)
    connection.run(
        f"DELETE FROM deletions WHERE organization = ? AND kind = ? AND {condition}",  # noqa: S608
        (number, kind, *values),
    )


def forget_words(connection: Connection, *, of_links: bool) -> None:
    """Remove the notes on removed records whose ids hold words: of code (paths) and `of_links` (types, a user's words)."""
    for kind in (Kind.FILE, Kind.CHUNK, *([Kind.LINK] if of_links else [])):
        connection.run("DELETE FROM deletions WHERE kind = ?", (kind,))


def changes(
    connection: Connection, number: int | None, since: int, limit: int | None
) -> list[Change]:
    """Return the latest change of each record that changed after the sequence `since`, oldest first, at most `limit`."""
    query = connection.first_of(_CHANGES, "sequence", _ALL if limit is None else limit)
    return [
        Change(sequence, Kind(kind), value_text(id), bool(deleted))
        for sequence, kind, id, deleted in connection.rows(query, (number, since) * len(_CHANGES))
    ]


def organizations(connection: Connection) -> list[str]:
    """Return the organizations that hold or have held a record, sorted."""
    table, key = connection.feeds
    rows = connection.rows(
        f"SELECT o.name FROM organizations AS o JOIN {table} AS f ON f.{key} = o.number"  # noqa: S608
        " WHERE f.sequence > 0"
    )
    return sorted(value_text(name) for (name,) in rows)


def _all_changes() -> Iterator[str]:
    chosen = "WHERE organization = ? AND sequence > ?"
    yield f"SELECT sequence, kind, id, TRUE AS deleted FROM deletions {chosen}"  # noqa: S608
    for table in ALL_TABLES:
        named = "kind" if "kind" in table.stored else f"'{table.records[0].kind}' AS kind"
        yield f"SELECT sequence, {named}, id, FALSE FROM {table.name} {chosen}"  # noqa: S608


_CHANGES = tuple(_all_changes())
