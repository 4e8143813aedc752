"""The names of entities, found in a text by their first word."""

import json
from collections.abc import Iterable, Sequence

from minutebook.record.filters import Filter
from minutebook.record.records import Entity
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Connection
from minutebook.store.sql.tables import table_of, value_text
from minutebook.text.words import words as words_of

SHORT = 200
"""How many characters of a text of any length stand in an index, whose rows have a largest size."""


def keep(connection: Connection, number: int, entity: Entity) -> None:
    """List an entity under its present name and aliases."""
    connection.put_names(number, entity.id, sorted(_listed(entity)))


def keep_all(connection: Connection, number: int) -> None:
    """List every entity of an organization anew."""
    table = table_of(Entity)
    for row in connection.rows(
        f"SELECT {table.fields} FROM {table.name} AS r WHERE r.organization = ?",  # noqa: S608
        (number,),
    ):
        keep(connection, number, table.record_of(Entity, "", row))


def forget(connection: Connection, number: int, entity: str) -> None:
    """Take an entity's names off the list."""
    connection.run("DELETE FROM names WHERE organization = ? AND entity = ?", (number, entity))


def wrong(connection: Connection, number: int | None, entities: Iterable[Entity]) -> list[str]:
    """Return the sorted ids of the entities that are listed otherwise than under their names and aliases."""
    found: dict[str, set[tuple[str, str]]] = {}
    for entity, first, words in connection.rows(
        "SELECT entity, first, words FROM names WHERE organization = ?", (number,)
    ):
        found.setdefault(value_text(entity), set()).add((value_text(first), value_text(words)))
    others = [each.id for each in entities if found.pop(each.id, set()) != _listed(each)]
    return sorted([*others, *found])


def entities_named(
    connection: Connection, number: int | None, where: Filter, words: Sequence[str]
) -> list[str]:
    """Return the sorted ids of the selected entities of which a name occurs in the words as a phrase."""
    firsts, named = connection.among("n.first", sorted({word[:SHORT] for word in words}))
    condition, values = selection(connection, number, Entity, where)
    rows = connection.rows(
        "SELECT n.entity, n.words FROM names AS n"  # noqa: S608
        " CROSS JOIN entities AS r WHERE n.organization = ? AND r.organization = n.organization"
        f" AND r.id = n.entity AND {firsts} AND {condition}",
        (number, *named, *values),
    )
    # Between quotes, a run of words stands in the text just where its JSON stands in the text's.
    text = json.dumps(list(words))
    return sorted({value_text(entity) for entity, name in rows if name[1:-1] in text})


def _listed(entity: Entity) -> set[tuple[str, str]]:
    """Return the first word and the JSON of all words of each name and alias."""
    names = (words_of(name) for name in (entity.name, *entity.aliases))
    return {(words[0][:SHORT], json.dumps(words)) for words in names if words}
