"""Organizations and their changes: whatever happens to a record takes the next sequence."""

from collections.abc import Collection, Sequence

from minutebook.domain.records import Kind
from minutebook.store.postgres.connections import Connection
from minutebook.store.postgres.tables import ALL_TABLES
from minutebook.store.protocol import Change

NEXT_SEQUENCE = (
    "UPDATE feeds SET sequence = sequence + 1 WHERE organization = %s RETURNING sequence"
)
"""Draws the sequence of one change, whose writer holds the row's lock since its transaction began."""


def note_deletions(connection: Connection, number: int, kind: Kind, ids: list[str]) -> None:
    """Put marks in place of records that were removed."""
    if not ids:
        return
    connection.execute(
        "WITH drawn AS (UPDATE feeds SET sequence = sequence + %s WHERE organization = %s"
        " RETURNING sequence)"
        " INSERT INTO deletions (organization, kind, id, sequence)"
        " SELECT %s, %s, gone.id, drawn.sequence - %s + gone.place"
        " FROM drawn, unnest(%s::text[]) WITH ORDINALITY AS gone (id, place)",
        (len(ids), number, number, kind, len(ids), ids),
    )


def drawn(connection: Connection, number: int, count: int) -> int:
    """Draw the sequences of several changes that follow one another; return the first."""
    found = connection.execute(
        "UPDATE feeds SET sequence = sequence + %s WHERE organization = %s RETURNING sequence",
        (count, number),
    ).fetchone()
    return (int(found[0]) if found else 0) - count + 1


def forget_deletions(connection: Connection, number: int, kind: Kind, ids: list[str]) -> None:
    """Take away the marks of records that are back."""
    connection.execute(
        "DELETE FROM deletions WHERE organization = %s AND kind = %s AND id = ANY(%s)",
        (number, kind, ids),
    )


def sequence(connection: Connection, number: int) -> int:
    """Return the sequence of the latest change, 0 when there is none."""
    found = connection.execute(
        "SELECT sequence FROM feeds WHERE organization = %s", (number,)
    ).fetchone()
    return int(found[0]) if found else 0


def settle_moment(connection: Connection, numbers: Collection[int]) -> None:
    """Let a transaction that reads one moment settle it now for these organizations.

    On a cluster each node settles its own by its first read.
    """
    with connection.cursor() as cursor:
        cursor.executemany(
            "SELECT sequence FROM feeds WHERE organization = %s",
            [(number,) for number in sorted(numbers)],
        )


def changes(connection: Connection, number: int, since: int, limit: int | None) -> list[Change]:
    """Return the latest change of each record that changed after `since`, oldest first."""
    rows = connection.execute(_CHANGES, {"number": number, "since": since, "limit": limit})
    return [Change(sequence, Kind(kind), id, deleted) for sequence, kind, id, deleted in rows]


def organizations(connection: Connection) -> list[str]:
    """Return the organizations that hold or have held a record, sorted."""
    rows = connection.execute(
        "SELECT o.name FROM organizations AS o JOIN feeds AS f ON f.organization = o.number"
        " WHERE f.sequence > 0 ORDER BY o.name"
    )
    return [name for (name,) in rows]


def first_of_each(selects: Sequence[str], limit: str) -> str:
    """Write a query for the first rows, by `sequence`, of several selections together.

    Each selection is cut to the limit itself, by the index of its table: PostgreSQL prefers to sort all that
    follows, and who reads page by page would sort all that is left for each page.
    """
    end = f" ORDER BY sequence LIMIT {limit}"
    return " UNION ALL ".join(f"({select}{end})" for select in selects) + end


def _all_changes() -> str:
    parts = ["SELECT sequence, kind, id, TRUE AS deleted FROM deletions"]
    for table in ALL_TABLES:
        named = "kind" if "kind" in table.stored else f"'{table.records[0].kind}'"
        parts.append(f"SELECT sequence, {named}, id, FALSE FROM {table.name}")  # noqa: S608
    chosen = " WHERE organization = %(number)s AND sequence > %(since)s"
    return first_of_each([part + chosen for part in parts], "%(limit)s")


_CHANGES = _all_changes()
