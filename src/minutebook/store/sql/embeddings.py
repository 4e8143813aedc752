"""Vectors as they are kept, float16 rows in the space of one model, with packed token states beside them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter
from minutebook.domain.records import TEXT_CLASSES, TextRecord
from minutebook.search.late_interaction import HEAD
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Connection, Kept
from minutebook.store.sql.spaces import Spaces
from minutebook.store.sql.tables import table_of, value_text
from minutebook.store.sql.vector_rows import are_damaged, rows_of
from minutebook.store.values import Embedding, T, Vectors, VectorSpace

Place: TypeAlias = tuple[int, str, int]
"""Where a record is, as of when: the number of its organization, its id and its sequence."""


def put(connection: Connection, number: int, of: type[TextRecord], id: str, kept: Kept) -> None:
    """Keep a record's vectors and states in place of earlier ones. Raises NotFound."""
    if not connection.put_embedding(number, of, id, kept):
        raise NotFound(of.kind, id)


def kept_of(embedding: Embedding, spaces: Mapping[VectorSpace, int]) -> Kept:
    """Return an embedding as it is kept; `spaces` numbers its space."""
    form = None if embedding.states is None else embedding.space.states
    return Kept(spaces[embedding.space], embedding.vectors.tobytes(), form, embedding.states)


def get(
    connection: Connection, number: int | None, of: type[TextRecord], id: str, spaces: Spaces
) -> tuple[VectorSpace, Vectors] | None:
    """Return a record's space and vectors, shape (parts, dimensions), or None."""
    name, (vectors, joined) = table_of(of).name, connection.vectors
    found = connection.rows(
        f"SELECT r.space, {vectors} FROM {name} AS r {joined.format(name)}"  # noqa: S608
        " WHERE r.organization = ? AND r.id = ? AND r.space IS NOT NULL",
        (number, id),
        binary=True,
    )
    for in_space, stored in found:
        space = spaces.of(in_space)
        return space, rows_of(stored, space.dimensions, name).astype(np.float32)
    return None


def whole(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    ids: Collection[str],
    spaces: Spaces,
) -> dict[str, Embedding]:
    """Return, by id, the rows and states of those records that have vectors."""
    name, (vectors, joined) = table_of(of).name, connection.vectors
    states, states_joined = connection.states
    condition, values = connection.among("r.id", sorted(set(ids)))
    found = connection.rows(
        f"SELECT r.id, r.space, {vectors}, r.states, {states} FROM {name} AS r"  # noqa: S608
        f" {joined.format(name)} {states_joined.format(name)}"
        f" WHERE r.organization = ? AND {condition} AND r.space IS NOT NULL",
        (number, *values),
        binary=True,
    )
    embeddings = {}
    for id, in_space, stored, form, token_states in found:
        space = replace(spaces.of(in_space), states=value_text(form) or "")
        rows = rows_of(stored, space.dimensions, name)
        embeddings[value_text(id)] = Embedding(space, rows, token_states)
    return embeddings


def states(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    ids: Collection[str],
    in_space: int,
    form: str,
) -> dict[str, bytes]:
    """Return the states, by id, of those records that have some of that space and form."""
    name, (column, joined) = table_of(of).name, connection.states
    condition, values = connection.among("r.id", sorted(set(ids)))
    space_of, form_of = connection.states_of
    rows = connection.rows(
        f"SELECT r.id, {column} FROM {name} AS r {joined.format(name)}"  # noqa: S608
        f" WHERE r.organization = ? AND {condition} AND {space_of} = ? AND {form_of} = ?",
        (number, *values, in_space, form),
        binary=True,
    )
    return {value_text(id): stored for id, stored in rows}


def states_size(connection: Connection, number: int | None, of: type[TextRecord]) -> int:
    """Sum the bytes of the states of an organization's records of a kind."""
    size, table = connection.states_bytes
    ((found,),) = connection.rows(
        f"SELECT coalesce(sum({size}), 0) FROM {table.format(table_of(of).name)}"  # noqa: S608
        " WHERE organization = ?",
        (number,),
    )
    return int(found)


def without(
    connection: Connection,
    kinds: Sequence[type[T]],
    in_space: int | None,
    form: str,
    limit: int,
    among: Collection[int] | None,
) -> list[T]:
    """Return records that lack vectors of that space or states of that form, in the order of the kinds."""
    records, number = connection.everyones
    chosen, named = ("TRUE", ()) if among is None else connection.among(number, sorted(among))
    found: list[T] = []
    for of in kinds:
        table = table_of(of)
        for lacking, values in _lacking(in_space, form):
            # A range of the index by space: what is done already costs nothing.
            rows = connection.rows(
                f"SELECT o.name, {table.fields} FROM {records.format(table.name)}"  # noqa: S608
                f" WHERE {chosen} AND {lacking} LIMIT ?",
                (*named, *values, limit - len(found)),
            )
            found += [table.record_of(of, value_text(name), row) for name, *row in rows]
            if len(found) >= limit:
                return found
    return found


def count(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    where: Filter,
    in_space: int,
    form: str,
) -> int:
    """Count the selected records that have vectors of that space and states of its form."""
    condition, values = selection(connection, number, of, where)
    if form:
        condition, values = f"{condition} AND r.states = ?", (*values, form)
    ((counted,),) = connection.rows(
        f"SELECT count(*) FROM {table_of(of).name} AS r WHERE {condition} AND r.space = ?",  # noqa: S608
        (*values, in_space),
    )
    return int(counted)


def cut_short(connection: Connection, of: type[TextRecord]) -> list[Place]:
    """Return the records with truncated vectors."""
    name, (vectors, joined) = table_of(of).name, connection.vectors
    rows = connection.rows(
        f"SELECT r.organization, r.id, r.sequence FROM {name} AS r {joined.format(name)}"  # noqa: S608
        f" JOIN spaces AS s ON s.number = r.space WHERE length({vectors}) = 0"
        f" OR length({vectors}) <> length({vectors}) / (2 * s.dimensions) * (2 * s.dimensions)"
    )
    return [(number, value_text(id), sequence) for number, id, sequence in rows]


def damaged_states(connection: Connection, of: type[TextRecord]) -> Iterator[Place]:
    """Yield the records with damaged token states; the connection is inside a transaction."""
    name, (states, joined) = table_of(of).name, connection.states
    rows = connection.stream(
        f"SELECT r.organization, r.id, r.sequence, r.states, substr({states}, 1, {HEAD}), length({states})"  # noqa: S608
        f" FROM {name} AS r {joined.format(name)} WHERE r.states IS NOT NULL"
    )
    for number, id, sequence, form, head, size in rows:
        if size is not None and are_damaged(value_text(form), head, size):
            yield number, value_text(id), sequence


def forget_damaged(connection: Connection) -> None:
    """Remove vectors that are cut short, with the states of their records, and damaged states: they are made anew."""
    for of in TEXT_CLASSES.values():
        for place in cut_short(connection, of):
            connection.clear_embedding(of, *place, vectors=True)
        for place in list(damaged_states(connection, of)):
            connection.clear_embedding(of, *place, vectors=False)


def _lacking(wanted: int | None, form: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the ranges of the index by space in which there are no vectors, or states, of those."""
    yield "r.space IS NULL", ()
    if wanted is None:
        yield "r.space > 0", ()
        return
    yield "r.space < ?", (wanted,)
    yield "r.space > ?", (wanted,)
    if form:
        yield "r.space = ? AND r.states IS NULL", (wanted,)
        yield "r.space = ? AND r.states < ?", (wanted, form)
        yield "r.space = ? AND r.states > ?", (wanted, form)
