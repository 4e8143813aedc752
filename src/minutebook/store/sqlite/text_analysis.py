"""Noticing that texts were analysed by another version, and analysing them anew behind the writers' back.

The database keeps the version. When it differs at open, the names of entities are listed anew at once;
of each text index `reached` then tells the sequence of the last change whose record was taken in anew,
NULL when all were. Until then such an index holds terms of both versions.
"""

from collections.abc import Iterator
from zlib import crc32

import apsw

from minutebook.domain.records import TEXT_CLASSES, Entity, Kind, TextRecord
from minutebook.search.text import ANALYSIS
from minutebook.store.sqlite import entity_names, texts
from minutebook.store.sqlite.tables import table_of

BATCH = 200
"""How many texts are analysed in one transaction; others wait for it for about a tenth of a second."""


def is_current(connection: apsw.Connection) -> bool:
    """Tell whether the present version made the text indices, or is making them."""
    version: int | None = connection.execute("SELECT version FROM text_analysis").get
    return version == stamp()


def stamp() -> int:
    """Return the version of all that makes a text index: of the analysis, and of SQLite's tokenizer."""
    return crc32(f"{ANALYSIS} {texts.TOKENIZER}".encode()) >> 1


def adopt(connection: apsw.Connection) -> None:
    """Analyse all texts anew if another version analysed them; list the names of entities anew."""
    if is_current(connection):
        return
    connection.execute("DELETE FROM names")
    numbers: list[int] = [
        number for (number,) in connection.execute("SELECT number FROM organizations")
    ]
    table = table_of(Entity)
    for number in numbers:
        entities = connection.execute(
            f"SELECT {table.fields} FROM {table.name} AS r WHERE r.organization = ?",  # noqa: S608
            (number,),
        ).fetchall()
        for values in entities:
            entity_names.keep(connection, number, table.record_of(Entity, "", values))
    texts.renew_tokenizers(connection)
    connection.execute("UPDATE text_indices SET reached = 0")
    connection.execute("DELETE FROM text_analysis")
    connection.execute("INSERT INTO text_analysis VALUES (?)", (stamp(),))


def advance(connection: apsw.Connection) -> None:
    """Analyse up to BATCH texts anew, inside the caller's transaction."""
    pending = next(_pending(connection), None)
    if pending is None:
        return
    number, of, reached = pending
    page = texts.texts_after(connection, number, of, reached, BATCH)
    for _, row, text in page:
        texts.remove(connection, number, of, row)
        texts.add(connection, number, of, row, text)
    connection.execute(
        "UPDATE text_indices SET reached = ? WHERE organization = ? AND kind = ?",
        (page[-1][0] if len(page) == BATCH else None, number, of.kind),
    )


def remaining(connection: apsw.Connection) -> int:
    """Count the texts that are still to be analysed anew."""
    return sum(
        connection.execute(
            f"SELECT count(*) FROM {table_of(of).name} WHERE organization = ? AND sequence > ?",  # noqa: S608
            (number, reached),
        ).get
        for number, of, reached in list(_pending(connection))
    )


def _pending(connection: apsw.Connection) -> Iterator[tuple[int, type[TextRecord], int]]:
    rows: Iterator[tuple[int, str, int]] = connection.execute(
        "SELECT organization, kind, reached FROM text_indices WHERE reached IS NOT NULL"
    )
    for number, kind, reached in rows:
        yield number, TEXT_CLASSES[Kind(kind)], reached
