"""The index of entities' names and aliases, by their first word, which finds the entities that a text names."""

import json
from collections.abc import Iterable, Sequence

from minutebook.record.filters import Filter
from minutebook.record.records import Entity
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Connection
from minutebook.store.sql.tables import table_of, value_text
from minutebook.text.words import words as words_of

SHORT = 200
"""The most characters of a word in an index, whose rows are limited in size."""


def list_names(connection: Connection, number: int, entity: Entity) -> None:
    """List an entity under its present name and aliases."""
    connection.put_names(number, entity.id, sorted(_listed(entity)))


def list_all_names(connection: Connection, number: int) -> None:
    """List every entity of an organization anew."""
    table = table_of(Entity)
    for row in connection.rows(
        f"SELECT {table.fields} FROM {table.name} AS r WHERE r.organization = ?",  # noqa: S608
        (number,),
    ):
        list_names(connection, number, table.record_of(Entity, "", row))


def unlist(connection: Connection, number: int, entity: str) -> None:
    """Remove an entity's names from the list."""
    connection.run("DELETE FROM names WHERE organization = ? AND entity = ?", (number, entity))


def wrongly_listed(
    connection: Connection, number: int | None, entities: Iterable[Entity]
) -> list[str]:
    """Return the sorted ids of entities of which the listed names differ from their names and aliases."""
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
    # Words stand in a row in the text exactly if their JSON, without brackets, stands in the JSON of the text's words.
    text = json.dumps(list(words))
    return sorted({value_text(entity) for entity, name in rows if name[1:-1] in text})


def _listed(entity: Entity) -> set[tuple[str, str]]:
    """Return the first word and the JSON of all words of each name and alias."""
    names = (words_of(name) for name in (entity.name, *entity.aliases))
    return {(words[0][:SHORT], json.dumps(words)) for words in names if words}
