"""Which rows contradict one another, in sentences."""

from collections.abc import Iterator

from minutebook.domain.records import TEXT_CLASSES
from minutebook.store.postgres.connections import Connections
from minutebook.store.postgres.embeddings import CUT_SHORT, damaged_states
from minutebook.store.postgres.tables import ALL_TABLES, table_of

_OF_VECTORS = {
    "{{}} {0} say that they have vectors, or token states, and have none, or the other way round": (
        "SELECT count(*) FROM {0} AS r WHERE ((r.space IS NULL) <> (r.vectors IS NULL)"
        " OR (r.states IS NULL) <> (r.token_states IS NULL))"
    ),
    "{{}} {0} have vectors that are cut short": f"SELECT count(*) {CUT_SHORT}",
    "{{}} {0} have vectors of no known model": (
        "SELECT count(*) FROM {0} AS r WHERE r.space IS NOT NULL"
        " AND r.space NOT IN (SELECT number FROM spaces)"
    ),
}
_CONTRADICTIONS = {
    **{
        sentence.format(table.name): counting.format(table.name)
        for table in ALL_TABLES
        if table.has_text
        for sentence, counting in _OF_VECTORS.items()
    },
    "{} names belong to no entity": (
        "SELECT count(*) FROM names AS r WHERE NOT EXISTS (SELECT 1 FROM entities AS e"
        " WHERE e.organization = r.organization AND e.id = r.entity)"
    ),
    "{} organizations have records and no name": (
        "SELECT count(*) FROM feeds AS r LEFT JOIN organizations AS o ON o.number = r.organization"
        " WHERE o.number IS NULL"
    ),
    **{
        f"{{}} {name} changed later than their organization": (
            f"SELECT count(*) FROM {name} AS r LEFT JOIN feeds AS f"  # noqa: S608
            " ON f.organization = r.organization WHERE r.sequence > coalesce(f.sequence, 0)"
        )
        for name in ("deletions", *(table.name for table in ALL_TABLES))
    },
}


def contradictions(connections: Connections) -> Iterator[str]:
    """Yield what contradicts in the rows of all organizations; of one moment."""
    with connections.stream() as connection:
        for sentence, counting in _CONTRADICTIONS.items():
            found = connection.execute(counting).fetchone()
            if found is not None and found[0]:
                yield sentence.format(found[0])
        for of in TEXT_CLASSES.values():
            count = sum(1 for _ in damaged_states(connection, of))
            if count:
                yield f"{count} {table_of(of).name} have damaged token states"
