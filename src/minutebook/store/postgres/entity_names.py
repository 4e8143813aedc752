"""The names of entities, found in a text by their first word."""

import json
from collections.abc import Iterable, Sequence

from minutebook.domain.filters import Filter
from minutebook.domain.records import Entity
from minutebook.search.text import ANALYSIS
from minutebook.search.text import words as words_of
from minutebook.store.postgres import change_feed
from minutebook.store.postgres.connections import Connection, Connections
from minutebook.store.postgres.tables import SHORT, selection, table_of


def keep(connection: Connection, number: int, entity: Entity) -> None:
    """List an entity under its present name and aliases."""
    listed = sorted(_names(entity))
    connection.execute(
        "WITH further AS (DELETE FROM names WHERE organization = %s AND entity = %s AND place > %s)"
        " INSERT INTO names (organization, entity, place, first, words)"
        " SELECT %s, %s, name.place, name.first, name.words"
        " FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS name (first, words, place)"
        " ON CONFLICT (organization, entity, place)"
        " DO UPDATE SET first = EXCLUDED.first, words = EXCLUDED.words",
        (
            number,
            entity.id,
            len(listed),
            number,
            entity.id,
            [_first(name[0]) for name in listed],
            [json.dumps(name) for name in listed],
        ),
    )


def wrong(connection: Connection, number: int, entities: Iterable[Entity]) -> list[str]:
    """Return the sorted ids of the entities that are listed otherwise than under their names and aliases."""
    found: dict[str, set[tuple[str, str]]] = {}
    rows = connection.execute(
        "SELECT entity, first, words FROM names WHERE organization = %s", (number,)
    )
    for entity, first, words in rows:
        found.setdefault(entity, set()).add((first, words))
    others = [
        each.id
        for each in entities
        if found.pop(each.id, set()) != {(_first(n[0]), json.dumps(n)) for n in _names(each)}
    ]
    return sorted([*others, *found])


def _names(entity: Entity) -> set[tuple[str, ...]]:
    """Return the words of each name and alias."""
    return {tuple(words_of(name)) for name in (entity.name, *entity.aliases)} - {()}


def forget(connection: Connection, number: int, entity: str) -> None:
    """Take an entity's names off the list."""
    connection.execute(
        "DELETE FROM names WHERE organization = %s AND entity = %s", (number, entity)
    )


def entities_named(
    connection: Connection, number: int, where: Filter, words: Sequence[str]
) -> list[str]:
    """Return the sorted ids of the selected entities of which a name occurs in the words as a phrase."""
    places: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        places.setdefault(_first(word), []).append(index)
    condition, values = selection(number, Entity, where)
    rows = connection.execute(
        "SELECT n.first, n.entity, n.words FROM names AS n"  # noqa: S608
        " JOIN entities AS r ON r.organization = n.organization AND r.id = n.entity"
        f" WHERE n.organization = %s AND n.first = ANY(%s) AND {condition}",
        (number, sorted(places), *values),
    )
    found = set()
    for first, entity, name in rows:
        run = json.loads(name)
        if any(list(words[index : index + len(run)]) == run for index in places[first]):
            found.add(entity)
    return sorted(found)


def renew(connections: Connections) -> None:
    """List every entity anew, organization by organization, if another analysis made the words."""
    if _analysis(connections) == ANALYSIS:
        return
    table = table_of(Entity)
    with connections.committed() as connection:
        names = change_feed.organizations(connection)
    for organization in names:
        with (
            connections.transaction(organization),
            connections.writing(organization) as (connection, number),
        ):
            for row in connection.execute(
                f"SELECT {table.fields} FROM entities AS r WHERE r.organization = %s",  # noqa: S608
                (number,),
            ).fetchall():
                keep(connection, number, table.record_of(Entity, organization, row))
    # If this does not happen, the next who opens the store begins again.
    with connections.registering() as connection:
        connection.execute("UPDATE identity SET analysis = %s", (ANALYSIS,))


def _analysis(connections: Connections) -> int:
    with connections.committed() as connection:
        found = connection.execute("SELECT analysis FROM identity").fetchone()
    return int(found[0]) if found else 0


def _first(word: str) -> str:
    return word[:SHORT]
