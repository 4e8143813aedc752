"""Vectors, float16 rows in the space of one model, with packed token states beside them; and the numbers of spaces."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.record.errors import InvalidInput, NotFound, StoreDamaged
from minutebook.record.filters import Filter
from minutebook.record.reason import Reason
from minutebook.record.records import TEXT_CLASSES, TextRecord
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Connection, Database, KeptVectors
from minutebook.store.sql.tables import table_of, value_text
from minutebook.store.values import T, TextVectors, Vectors, VectorSpace
from minutebook.text import late_interaction
from minutebook.text.late_interaction import HEAD


class Spaces:
    """The vector spaces of a database, by number; committed ones are asked for once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[VectorSpace, int] = {}

    def number_of(self, space: VectorSpace) -> int | None:
        """Return the number that stands for a space, None if nothing was kept in it."""
        number = self._numbers.get(space)
        return self._all().get(space) if number is None else number

    def registered(self, space: VectorSpace) -> int:
        """Return the number of a space, which is given one if it has none."""
        number = self.number_of(space)
        if number is not None:
            return number
        with self._database.registering() as connection:
            connection.put_space((space.name, space.digest, space.dimensions))
        return self._all()[space]

    def space_of(self, number: int) -> VectorSpace:
        """Return the space that a number stands for."""
        known = {number: space for space, number in self._numbers.items()}
        return known.get(number) or {number: space for space, number in self._all().items()}[number]

    def _all(self) -> dict[VectorSpace, int]:
        with self._database.reading() as connection:
            numbers = _read(connection)
        if not self._database.is_writing:
            # It stays so; what this thread wrote may still be undone.
            self._numbers = numbers
        return numbers


def _read(connection: Connection) -> dict[VectorSpace, int]:
    return {
        VectorSpace(value_text(name), value_text(digest), dimensions): number
        for number, name, digest, dimensions in connection.rows(
            "SELECT number, name, digest, dimensions FROM spaces"
        )
    }


_SQUARE_TOLERANCE = 0.02


def check_query(space: VectorSpace, vector: Vectors) -> None:
    """Raise InvalidInput if a vector has not the space's dimensions or length 1."""
    if vector.shape != (space.dimensions,):
        remedy = "must have shape ({wanted},) for {name}, not {given}"
        raise InvalidInput(
            "vector", remedy, wanted=space.dimensions, name=space.name, given=vector.shape
        )
    square = float(vector.astype(np.float32) @ vector.astype(np.float32))
    if not abs(square - 1.0) <= _SQUARE_TOLERANCE:
        raise InvalidInput(
            "vector", "must be finite and of length 1, not {given}", given=square**0.5
        )


def checked_rows(space: VectorSpace, vectors: Vectors, states: bytes | None) -> NDArray[np.float16]:
    """Return vectors as they are kept, shape (parts, dimensions).

    Raises InvalidInput if the space has no such vectors, or no form for token states.
    """
    if vectors.ndim != 2 or len(vectors) == 0 or vectors.shape[1] != space.dimensions:
        remedy = "must have shape (parts, {wanted}) for {name}, not {given}"
        raise InvalidInput(
            "vectors", remedy, wanted=space.dimensions, name=space.name, given=vectors.shape
        )
    rows = vectors.astype(np.float32)
    squares = (rows * rows).sum(axis=1).tolist()
    for square in squares:
        if not abs(square - 1.0) <= _SQUARE_TOLERANCE:
            raise InvalidInput(
                "vectors", "must be finite rows of length 1, not {given}", given=square**0.5
            )
    if states is not None and not space.states:
        raise InvalidInput(
            "states", "need a form, which the space of {name} does not name", name=space.name
        )
    return vectors.astype(np.float16)


def rows_of(stored: bytes, dimensions: int, table: str) -> NDArray[np.float16]:
    """Return vectors as they are kept, shape (parts, dimensions). Raises StoreDamaged if they are cut short."""
    check_rows([stored], dimensions, table)
    return np.frombuffer(stored, np.float16).reshape(-1, dimensions)


def check_rows(stored: Sequence[bytes], dimensions: int, table: str) -> None:
    """Raise StoreDamaged if the vectors of one of the records are cut short."""
    if any(not each or len(each) % (2 * dimensions) for each in stored):
        what = Reason("vectors of {table} are cut short", table=table)
        raise StoreDamaged(
            Reason("{what}; `minutebook doctor --repair` has them made anew", what=what), what
        )


def are_damaged(form: str, head: bytes, size: int) -> bool:
    """Tell whether token states of that form and size, with those first bytes, are not whole; none are."""
    is_known = form.endswith((late_interaction.FORM, late_interaction.EARLIER_FORM))
    return is_known and size > 0 and not late_interaction.is_whole(head, size)


Place: TypeAlias = tuple[int, str, int]
"""Where a record is, as of when: the number of its organization, its id and its sequence."""


def put(
    connection: Connection, number: int, of: type[TextRecord], id: str, kept: KeptVectors
) -> None:
    """Keep a record's vectors and states in place of earlier ones. Raises NotFound."""
    if not connection.put_embedding(number, of, id, kept):
        raise NotFound(of.kind, id)


def kept_of(embedding: TextVectors, spaces: Mapping[VectorSpace, int]) -> KeptVectors:
    """Return an embedding as it is kept; `spaces` numbers its space."""
    form = None if embedding.states is None else embedding.space.states
    return KeptVectors(spaces[embedding.space], embedding.vectors.tobytes(), form, embedding.states)


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
        space = spaces.space_of(in_space)
        return space, rows_of(stored, space.dimensions, name).astype(np.float32)
    return None


def whole(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    ids: Collection[str],
    spaces: Spaces,
) -> dict[str, TextVectors]:
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
        space = replace(spaces.space_of(in_space), states=value_text(form) or "")
        rows = rows_of(stored, space.dimensions, name)
        embeddings[value_text(id)] = TextVectors(space, rows, token_states)
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
    """Return records that lack vectors of that space or states of that form, those without any first, then in the order of the kinds, newest first."""
    records, number, newest_first = connection.everyones
    chosen, named = ("TRUE", ()) if among is None else connection.among(number, sorted(among))
    found: list[T] = []
    without_any, *others = _lacking(in_space, form)
    ranges = [(of, without_any) for of in kinds] + [(of, each) for of in kinds for each in others]
    for of, (lacking, values) in ranges:
        table = table_of(of)
        # A range of the index by space: what is done already costs nothing.
        rows = connection.rows(
            f"SELECT o.name, {table.fields} FROM {records.format(table.name)}"  # noqa: S608
            f" WHERE {chosen} AND {lacking} ORDER BY {newest_first} LIMIT ?",
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
