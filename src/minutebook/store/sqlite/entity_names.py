"""The names of entities, found in a text by their first word."""

import json
from collections.abc import Sequence

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import Entity
from minutebook.search.text import words as words_of
from minutebook.store.sql.tables import value_text
from minutebook.store.sqlite.tables import padded, selection, text_value

_BATCH = 512


def keep(connection: apsw.Connection, number: int, entity: Entity) -> None:
    """List an entity under its present name and aliases."""
    forget(connection, number, entity.id)
    for name in (entity.name, *entity.aliases):
        if words := words_of(name):
            connection.execute(
                "INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?)",
                (number, text_value(words[0]), text_value(entity.id), json.dumps(words)),
            )


def forget(connection: apsw.Connection, number: int, entity: str) -> None:
    """Take an entity's names off the list."""
    connection.execute(
        "DELETE FROM names WHERE organization = ? AND entity = ?", (number, text_value(entity))
    )


def entities_named(connection: apsw.Connection, where: Filter, words: Sequence[str]) -> list[str]:
    """Return the sorted ids of the selected entities of which a name occurs in the words as a phrase."""
    condition, values = selection(Entity, where)
    # Between quotes, a run of words stands in the text just where its JSON stands in the text's.
    text = json.dumps(list(words))
    firsts = [text_value(word) for word in dict.fromkeys(words)]
    found: set[str] = set()
    for start in range(0, len(firsts), _BATCH):
        batch = padded(firsts[start : start + _BATCH])
        rows = connection.execute(
            "SELECT n.entity FROM names AS n"  # noqa: S608
            " CROSS JOIN entities AS r ON r.organization = n.organization AND r.id = n.entity"
            " WHERE n.organization = (SELECT number FROM organizations WHERE name = ?)"
            f" AND n.first IN ({', '.join('?' * len(batch))})"
            f" AND instr(?, substr(n.words, 2, length(n.words) - 2)) AND {condition}",
            (text_value(where.organization), *batch, text, *values),
        )
        found.update(value_text(entity) for (entity,) in rows)
    return sorted(found)
