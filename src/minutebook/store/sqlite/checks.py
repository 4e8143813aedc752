"""What can be wrong with a file, in sentences."""

from collections.abc import Iterator

import apsw

from minutebook.domain.records import TEXT_CLASSES
from minutebook.store.sqlite.embeddings import CUT_SHORT, damaged_states
from minutebook.store.sqlite.tables import ALL_TABLES, table_of

_OF_VECTORS = {
    "{{}} token states of {} belong to no record with vectors": """
        SELECT count(*) FROM {0}_states WHERE row NOT IN (
            SELECT row FROM {0} WHERE space IS NOT NULL
        )""",
    "{{}} {} have other token states than they say": """
        SELECT count(*) FROM {0} AS r LEFT JOIN {0}_states AS s ON s.row = r.row
        WHERE (s.space, s.form) IS NOT (CASE WHEN r.states IS NULL THEN NULL ELSE r.space END, r.states)""",
    "{{}} vectors of {} belong to no record": """
        SELECT count(*) FROM {0}_vectors WHERE row NOT IN (SELECT row FROM {0})""",
    "{{}} {} say that they have vectors, and have none": """
        SELECT count(*) FROM {0}
        WHERE space IS NOT NULL AND row NOT IN (SELECT row FROM {0}_vectors)""",
    "{{}} {} have vectors that are cut short": f"SELECT count(*) {CUT_SHORT}",
    "{{}} {} have vectors of no known model": """
        SELECT count(*) FROM {0}
        WHERE space IS NOT NULL AND space NOT IN (SELECT number FROM spaces)""",
}

_CONTRADICTIONS = {
    **{
        sentence.format(table.name): counting.format(table.name)
        for table in ALL_TABLES
        if table.has_text
        for sentence, counting in _OF_VECTORS.items()
    },
    "{} names belong to no entity": """
        SELECT count(*) FROM names AS n WHERE NOT EXISTS (
            SELECT 1 FROM entities AS e WHERE e.organization = n.organization AND e.id = n.entity
        )""",
    **{
        f"{{}} {table.name} changed later than their organization": f"""
        SELECT count(*) FROM {table.name} AS r LEFT JOIN organizations AS o
        ON o.number = r.organization WHERE r.sequence > coalesce(o.sequence, 0)"""  # noqa: S608
        for table in ALL_TABLES
    },
}


def pages(connection: apsw.Connection) -> Iterator[str]:
    """Check every page, index and text index by SQLite's own means."""
    try:
        for (finding,) in connection.execute("PRAGMA integrity_check"):
            if finding != "ok":
                yield f"the database is damaged: {finding}"
    except apsw.CorruptError as error:
        yield f"the database is damaged: {error}"


def contradictions(connection: apsw.Connection) -> Iterator[str]:
    """Find rows that contradict one another."""
    for sentence, counting in _CONTRADICTIONS.items():
        count = connection.execute(counting).get
        if count:
            yield sentence.format(count)
    for of in TEXT_CLASSES.values():
        count = sum(1 for _ in damaged_states(connection, of))
        if count:
            yield f"{count} {table_of(of).name} have damaged token states"
