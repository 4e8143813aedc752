"""What a database notes of records that are moved into it."""

from minutebook.store.postgres.connections import Connection


def state(connection: Connection) -> tuple[tuple[str, bool] | None, list[str]]:
    """Return what was moved here before, if anything, and the organizations with what no move brought."""
    found = connection.execute("SELECT source, ended FROM migration").fetchone()
    rows = connection.execute(
        "SELECT o.name FROM feeds AS f JOIN organizations AS o ON o.number = f.organization"
        " LEFT JOIN migrated AS m ON m.organization = f.organization"
        " WHERE f.sequence > 0 AND m.sequence IS DISTINCT FROM f.sequence"
    )
    return None if found is None else (str(found[0]), bool(found[1])), [name for (name,) in rows]


def begin(connection: Connection, source: str) -> None:
    """Note the store whose records are being moved here."""
    if connection.execute("SELECT 1 FROM migration").fetchone() is None:
        connection.execute("INSERT INTO migration VALUES (%s, FALSE)", (source,))
    connection.execute("UPDATE migration SET ended = FALSE")


def received(connection: Connection, number: int) -> int:
    """Return the sequence of the source up to which an organization's changes were transferred."""
    found = connection.execute(
        "SELECT source_sequence FROM migrated WHERE organization = %s", (number,)
    ).fetchone()
    return int(found[0]) if found else 0


def note_received(connection: Connection, number: int, up_to: int) -> None:
    """Note how far an organization's changes are here."""
    connection.execute(
        "INSERT INTO migrated VALUES (%s, %s, NULL) ON CONFLICT (organization)"
        " DO UPDATE SET source_sequence = EXCLUDED.source_sequence, sequence = NULL",
        (number, up_to),
    )


def end(connection: Connection) -> None:
    """Note that all is here, and how far each organization is, by which a later write shows."""
    with connection.transaction():
        connection.execute(
            "UPDATE migrated AS m SET sequence = f.sequence FROM feeds AS f"
            " WHERE f.organization = m.organization"
        )
        connection.execute("UPDATE migration SET ended = TRUE")
