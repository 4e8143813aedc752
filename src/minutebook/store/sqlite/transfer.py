"""What a file notes of records that are moved into it, and what it gives of texts that are moved out."""

from collections.abc import Collection

import apsw

from minutebook.domain.records import TextRecord
from minutebook.store.protocol import VectorSpace
from minutebook.store.sql.tables import value_text
from minutebook.store.sql.vector_rows import rows_of
from minutebook.store.sqlite import change_feed
from minutebook.store.sqlite.tables import padded, table_of, text_value
from minutebook.store.transfer import Embedding

_BATCH = 512


def is_under_way(connection: apsw.Connection) -> bool:
    """Tell whether records are being moved into the file."""
    noted = _noted(connection)
    return noted is not None and not noted[1]


def begin(connection: apsw.Connection, source: str) -> None:
    """Note the store whose records are being moved here; the caller's transaction keeps it."""
    if _noted(connection) is None:
        connection.execute("INSERT INTO migration VALUES (?, 0)", (source,))
    connection.execute("UPDATE migration SET ended = 0")


def state(connection: apsw.Connection) -> tuple[tuple[str, bool] | None, list[str]]:
    """Return what was moved here before, if anything, and the organizations with what no move brought."""
    noted = _noted(connection)
    if noted is None:
        return None, change_feed.organizations(connection, None)
    rows = connection.execute(
        "SELECT o.name FROM organizations AS o LEFT JOIN migrated AS m ON m.organization = o.number"
        " WHERE m.sequence IS NOT o.sequence"
    )
    return noted, [value_text(name) for (name,) in rows]


def received(connection: apsw.Connection, organization: str) -> int:
    """Return the sequence of the source up to which an organization's changes were transferred."""
    found: int | None = connection.execute(
        "SELECT source_sequence FROM migrated"
        " WHERE organization = (SELECT number FROM organizations WHERE name = ?)",
        (text_value(organization),),
    ).get
    return found or 0


def note_received(connection: apsw.Connection, organization: str, up_to: int) -> None:
    """Note how far an organization's changes are here."""
    connection.execute(
        "INSERT OR REPLACE INTO migrated SELECT number, ?, NULL FROM organizations WHERE name = ?",
        (up_to, text_value(organization)),
    )


def end(connection: apsw.Connection) -> None:
    """Note that all is here, and how far each organization is, by which a later write shows."""
    connection.execute(
        "UPDATE migrated SET sequence ="
        " (SELECT o.sequence FROM organizations AS o WHERE o.number = organization)"
    )
    connection.execute("UPDATE migration SET ended = 1")


def embeddings(
    connection: apsw.Connection, of: type[TextRecord], organization: str, ids: Collection[str]
) -> dict[str, Embedding]:
    """Return, by id, the vectors and token states of those records that have vectors."""
    table, found, distinct = table_of(of).name, dict[str, Embedding](), sorted(set(ids))
    for start in range(0, len(distinct), _BATCH):
        batch = padded([text_value(id) for id in distinct[start : start + _BATCH]])
        rows = connection.execute(
            "SELECT r.id, s.name, s.digest, s.dimensions, r.states, v.vectors, t.states"  # noqa: S608
            f" FROM {table} AS r JOIN {table}_vectors AS v ON v.row = r.row"
            f" JOIN spaces AS s ON s.number = r.space LEFT JOIN {table}_states AS t ON t.row = r.row"
            " WHERE r.organization = (SELECT number FROM organizations WHERE name = ?)"
            f" AND r.id IN ({', '.join('?' * len(batch))})",
            (text_value(organization), *batch),
        )
        # All at once: where one is damaged, none keeps the moment of the connection.
        for id, name, digest, dimensions, form, vectors, states in list(rows):
            space = VectorSpace(value_text(name), value_text(digest), dimensions, form or "")
            kept = rows_of(vectors, dimensions, table)
            found[value_text(id)] = Embedding(space, kept, states)
    return found


def _noted(connection: apsw.Connection) -> tuple[str, bool] | None:
    noted = connection.execute("SELECT source, ended FROM migration").fetchone()
    return None if noted is None else (str(noted[0]), bool(noted[1]))
