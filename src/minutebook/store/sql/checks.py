"""Which rows contradict one another, in sentences."""

from collections.abc import Iterator

from minutebook.domain.records import TEXT_CLASSES
from minutebook.store.sql import embeddings
from minutebook.store.sql.database import Connection
from minutebook.store.sql.tables import ALL_TABLES, table_of


def contradictions(connection: Connection) -> Iterator[str]:
    """Yield the contradictions in the rows of all organizations; the connection sees one moment."""
    for sentence, counting in _contradictions(connection):
        ((count,),) = connection.rows(counting)
        if count:
            yield sentence.format(count)
    for of in TEXT_CLASSES.values():
        if cut := len(embeddings.cut_short(connection, of)):
            yield f"{cut} {table_of(of).name} have vectors that are cut short"
        if damaged := sum(1 for _ in embeddings.damaged_states(connection, of)):
            yield f"{damaged} {table_of(of).name} have damaged token states"


def _contradictions(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield sentences, with a place for a number, and the query that counts it."""
    feeds, key = connection.feeds
    for table in ALL_TABLES:
        if table.has_text:
            for sentence, counting in connection.contradictions.items():
                yield sentence.format("{}", table.name), counting.format(table.name)
            yield (
                f"{{}} {table.name} have vectors of no known model",
                f"SELECT count(*) FROM {table.name} AS r WHERE r.space IS NOT NULL"  # noqa: S608
                " AND r.space NOT IN (SELECT number FROM spaces)",
            )
    yield (
        "{} names belong to no entity",
        "SELECT count(*) FROM names AS r WHERE NOT EXISTS (SELECT 1 FROM entities AS e"
        " WHERE e.organization = r.organization AND e.id = r.entity)",
    )
    yield (
        "{} organizations have records and no name",
        f"SELECT count(*) FROM {feeds} AS r LEFT JOIN organizations AS o ON o.number = r.{key}"  # noqa: S608
        " WHERE o.number IS NULL",
    )
    for name in ("deletions", *(table.name for table in ALL_TABLES)):
        yield (
            f"{{}} {name} changed later than their organization",
            f"SELECT count(*) FROM {name} AS r LEFT JOIN {feeds} AS f ON f.{key} = r.organization"  # noqa: S608
            " WHERE r.sequence > coalesce(f.sequence, 0)",
        )
