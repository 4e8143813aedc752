"""The notes of a database on records that are moved into it."""

from minutebook.store.sql.database import Connection
from minutebook.store.sql.tables import value_text


def source_of(connection: Connection) -> tuple[str, bool] | None:
    """Return the identity of the store from which records were moved here, if any, and whether that has ended."""
    row = connection.row("SELECT source, ended FROM migration")
    return None if row is None else (str(row[0]), bool(row[1]))


def written(connection: Connection) -> list[str]:
    """Return the organizations with records that no move brought."""
    table, key = connection.feeds
    rows = connection.rows(
        f"SELECT o.name FROM organizations AS o JOIN {table} AS f ON f.{key} = o.number"  # noqa: S608
        f" LEFT JOIN migrated AS m ON m.organization = f.{key}"
        " WHERE f.sequence > 0 AND coalesce(m.sequence, -1) <> f.sequence"
    )
    return [value_text(name) for (name,) in rows]


def begin(connection: Connection, source: str) -> None:
    """Note the source store of the records that are being moved here."""
    if source_of(connection) is None:
        connection.run("INSERT INTO migration VALUES (?, FALSE)", (source,))
    connection.run("UPDATE migration SET ended = FALSE")


def received(connection: Connection, number: int | None) -> int:
    """Return the sequence of the source up to which an organization's changes were transferred."""
    row = connection.row("SELECT source_sequence FROM migrated WHERE organization = ?", (number,))
    return 0 if row is None else int(row[0])


def note_received(connection: Connection, number: int, up_to: int) -> None:
    """Note how far an organization's changes are here."""
    connection.run(
        "INSERT INTO migrated VALUES (?, ?, NULL) ON CONFLICT (organization)"
        " DO UPDATE SET source_sequence = EXCLUDED.source_sequence, sequence = NULL",
        (number, up_to),
    )


def end(connection: Connection) -> None:
    """Note that all is here, and how far each organization is, by which a later write shows."""
    table, key = connection.feeds
    connection.run(
        f"UPDATE migrated AS m SET sequence = f.sequence FROM {table} AS f"  # noqa: S608
        f" WHERE f.{key} = m.organization"
    )
    connection.run("UPDATE migration SET ended = TRUE")
