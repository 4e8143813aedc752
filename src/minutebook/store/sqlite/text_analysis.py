"""Analyses all texts anew in the background if another version of the analysis made the text indices.

The database stores the version. If it differs when a store is opened, the names of entities are listed anew at once.
Then `reached` of each text index is the sequence of the last record that was analysed anew,
NULL when all were. Until then such an index has terms of both versions.
"""

from collections.abc import Iterator
from zlib import crc32

from minutebook.record.records import TEXT_CLASSES, Kind, TextRecord
from minutebook.store.sql import entity_names
from minutebook.store.sql.database import Connection
from minutebook.store.sql.tables import table_of
from minutebook.store.sqlite import texts
from minutebook.text.words import ANALYSIS

BATCH = 200
"""Texts that are analysed in one transaction; other writers wait about a tenth of a second for it."""


def is_current(connection: Connection) -> bool:
    """Tell whether the text indices are of the present version, or are being made by it."""
    return connection.row("SELECT version FROM text_analysis") == (stamp(),)


def stamp() -> int:
    """Return the version of the text indices: a checksum of those of the analysis and of SQLite's tokenizer."""
    return crc32(f"{ANALYSIS} {texts.TOKENIZER}".encode()) >> 1


def adopt(connection: Connection) -> None:
    """Mark all texts to be analysed anew if another version analysed them, and list the names of entities anew."""
    if is_current(connection):
        return
    connection.run("DELETE FROM names")
    for (number,) in connection.rows("SELECT number FROM organizations"):
        entity_names.list_all_names(connection, number)
    texts.renew_tokenizers(connection)
    connection.run("UPDATE text_indices SET reached = 0")
    connection.run("DELETE FROM text_analysis")
    connection.run("INSERT INTO text_analysis VALUES (?)", (stamp(),))


def advance(connection: Connection) -> None:
    """Analyse up to BATCH texts anew, inside the caller's transaction."""
    pending = next(_pending(connection), None)
    if pending is None:
        return
    number, of, reached = pending
    page = texts.texts_after(connection, number, of, reached, BATCH)
    for _, row, text in page:
        texts.remove(connection, number, of, row)
        texts.add(connection, number, of, row, text)
    connection.run(
        "UPDATE text_indices SET reached = ? WHERE organization = ? AND kind = ?",
        (page[-1][0] if len(page) == BATCH else None, number, of.kind),
    )


def remaining(connection: Connection) -> int:
    """Return the number of texts still to be analysed anew."""
    return sum(
        connection.rows(
            f"SELECT count(*) FROM {table_of(of).name} WHERE organization = ? AND sequence > ?",  # noqa: S608
            (number, reached),
        )[0][0]
        for number, of, reached in _pending(connection)
    )


def _pending(connection: Connection) -> Iterator[tuple[int, type[TextRecord], int]]:
    rows = connection.rows(
        "SELECT organization, kind, reached FROM text_indices WHERE reached IS NOT NULL"
    )
    for number, kind, reached in rows:
        yield number, TEXT_CLASSES[Kind(kind)], reached
