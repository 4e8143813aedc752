"""The names of entities, found in a text by their first word."""

import json
from collections.abc import Iterable, Sequence

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
    for first, words in sorted(_listed(entity)):
        connection.execute(
            "INSERT INTO names VALUES (?, ?, ?, ?)",
            (number, text_value(first), text_value(entity.id), words),
        )


def wrong(connection: apsw.Connection, organization: str, entities: Iterable[Entity]) -> list[str]:
    """Return the sorted ids of the entities that are listed otherwise than under their names and aliases."""
    found: dict[str, set[tuple[str, str]]] = {}
    rows = connection.execute(
        "SELECT entity, first, words FROM names"
        " WHERE organization = (SELECT number FROM organizations WHERE name = ?)",
        (text_value(organization),),
    )
    for entity, first, words in rows:
        found.setdefault(value_text(entity), set()).add((value_text(first), value_text(words)))
    others = [each.id for each in entities if found.pop(each.id, set()) != _listed(each)]
    return sorted([*others, *found])


def _listed(entity: Entity) -> set[tuple[str, str]]:
    """Return the first word and the JSON of all words of each name and alias."""
    names = (words_of(name) for name in (entity.name, *entity.aliases))
    return {(words[0], json.dumps(words)) for words in names if words}


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
