"""Organizations and their changes: whatever happens to a record takes the next sequence."""

from collections.abc import Collection

import apsw

from minutebook.domain.records import Kind
from minutebook.store.protocol import Change
from minutebook.store.sql.tables import value_text
from minutebook.store.sqlite.tables import ALL_TABLES, text_value


def number_of(connection: apsw.Connection, organization: str) -> int | None:
    """Return the number of an organization, or None before its first record."""
    found: int | None = connection.execute(
        "SELECT number FROM organizations WHERE name = ?", (text_value(organization),)
    ).get
    return found


def name_of(connection: apsw.Connection, number: int) -> str:
    """Return the organization with a number."""
    row = connection.execute("SELECT name FROM organizations WHERE number = ?", (number,)).get
    return value_text(row)


def begin_change(connection: apsw.Connection, organization: str) -> tuple[int, int]:
    """Return an organization's number and its next sequence, which the change at hand takes."""
    begun: tuple[int, int] = connection.execute(
        "INSERT INTO organizations(name, sequence) VALUES (?, 1)"
        " ON CONFLICT (name) DO UPDATE SET sequence = sequence + 1 RETURNING number, sequence",
        (text_value(organization),),
    ).get
    return begun


def note_deletion(connection: apsw.Connection, organization: str, kind: Kind, id: str) -> None:
    """Put a mark in place of a record that was removed."""
    number, sequence = begin_change(connection, organization)
    connection.execute(
        "INSERT INTO deletions VALUES (?, ?, ?, ?)", (number, sequence, kind, text_value(id))
    )


def forget_deletion(connection: apsw.Connection, number: int, kind: Kind, id: str) -> None:
    """Take away the mark, if there is one: the record is back."""
    connection.execute(
        "DELETE FROM deletions WHERE organization = ? AND kind = ? AND id = ?",
        (number, kind, text_value(id)),
    )


def forget_links(connection: apsw.Connection) -> None:
    """Take away the marks of removed links, whose ids hold what somebody wrote as their type."""
    connection.execute("DELETE FROM deletions WHERE kind = ?", (Kind.LINK,))


def sequence(connection: apsw.Connection, organization: str) -> int:
    """Return the sequence of the latest change, 0 when there is none."""
    latest: int | None = connection.execute(
        "SELECT sequence FROM organizations WHERE name = ?", (text_value(organization),)
    ).get
    return latest or 0


def changes(
    connection: apsw.Connection, organization: str, since: int, limit: int | None
) -> list[Change]:
    """Return the latest change of each record that changed after `since`, oldest first."""
    number = number_of(connection, organization)
    rows = connection.execute(_CHANGES, (number, since, -1 if limit is None else limit))
    return [
        Change(sequence, Kind(kind), value_text(id), bool(deleted))
        for sequence, kind, id, deleted in rows
    ]


def organizations(connection: apsw.Connection, among: Collection[str] | None) -> list[str]:
    """Return the organizations that hold or have held a record, sorted."""
    if among is not None:
        return sorted(name for name in set(among) if number_of(connection, name) is not None)
    rows = connection.execute("SELECT name FROM organizations")
    return sorted(value_text(name) for (name,) in rows)


def _all_changes() -> str:
    parts = ["SELECT sequence, kind, id, 1 FROM deletions"]
    for table in ALL_TABLES:
        named = "kind" if "kind" in table.stored else f"'{table.records[0].kind}'"
        parts.append(f"SELECT sequence, {named}, id, 0 FROM {table.name}")  # noqa: S608
    chosen = " WHERE organization = ?1 AND sequence > ?2"
    return " UNION ALL ".join(part + chosen for part in parts) + " ORDER BY sequence LIMIT ?3"


_CHANGES = _all_changes()
