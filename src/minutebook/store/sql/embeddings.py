"""Stored embeddings: vectors as float16 rows in the space of one model, packed token states, and the numbers of spaces."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.record.errors import InvalidInput, NotFound, StoreDamaged
from minutebook.record.filters import Filter
from minutebook.record.reason import Reason
from minutebook.record.records import TEXT_CLASSES, TextRecord
from minutebook.store.sql.conditions import selection
from minutebook.store.sql.database import Condition, Connection, Database, KeptVectors
from minutebook.store.sql.tables import table_of, value_text
from minutebook.store.values import T, TextVectors, Vectors, VectorSpace
from minutebook.text import late_interaction
from minutebook.text.late_interaction import HEAD


class Spaces:
    """The vector spaces of a database and their numbers, cached once they are committed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[VectorSpace, int] = {}

    def number_of(self, space: VectorSpace) -> int | None:
        """Return the number of a space; None if no vector of it was ever written."""
        number = self._numbers.get(space)
        return self._all().get(space) if number is None else number

    def number_for_writing(self, space: VectorSpace) -> int:
        """Return the number of a space, giving it one if it has none."""
        number = self.number_of(space)
        if number is not None:
            return number
        with self._database.writing_shared() as connection:
            connection.put_space((space.name, space.digest, space.dimensions))
        return self._all()[space]

    def space_of(self, number: int) -> VectorSpace:
        """Return the space with a number."""
        known = self._numbers if number in self._numbers.values() else self._all()
        return next(space for space, its_number in known.items() if its_number == number)

    def _all(self) -> dict[VectorSpace, int]:
        with self._database.reading() as connection:
            numbers = _read(connection)
        if not self._database.is_writing:
            # Committed numbers never change; those that this thread wrote may still be undone.
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
    """Raise InvalidInput unless a vector has the space's dimensions and length 1."""
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


def checked_rows(
    space: VectorSpace, vectors: Vectors, token_states: bytes | None
) -> NDArray[np.float16]:
    """Return vectors as they are stored, shape (parts, dimensions).

    Raises InvalidInput if they do not fit the space, or there are token states and it names no form for them.
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
    if token_states is not None and not space.states:
        raise InvalidInput(
            "states", "need a form, which the space of {name} does not name", name=space.name
        )
    return vectors.astype(np.float16)


def rows_of(stored: bytes, dimensions: int, table: str) -> NDArray[np.float16]:
    """Return the vectors in stored bytes, shape (parts, dimensions). Raises StoreDamaged if they are cut short."""
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
    """Tell whether token states of that form and size in bytes, which begin with `head`, are damaged; empty ones are not."""
    is_known = form.endswith((late_interaction.FORM, late_interaction.EARLIER_FORM))
    return is_known and size > 0 and not late_interaction.is_whole(head, size)


Place: TypeAlias = tuple[int, str, int]
"""A record as of a change: the number of its organization, its id, and the sequence of its latest change."""


def put(
    connection: Connection, number: int, of: type[TextRecord], id: str, kept: KeptVectors
) -> None:
    """Write a record's vectors and states, replacing earlier ones. Raises NotFound if there is no such record."""
    if not connection.put_embedding(number, of, id, kept):
        raise NotFound(of.kind, id)


def encoded(embedding: TextVectors, spaces: Mapping[VectorSpace, int]) -> KeptVectors:
    """Return an embedding as it is stored; `spaces` has the number of its space."""
    form = None if embedding.states is None else embedding.space.states
    return KeptVectors(spaces[embedding.space], embedding.vectors.tobytes(), form, embedding.states)


def get(
    connection: Connection, number: int | None, of: type[TextRecord], id: str, spaces: Spaces
) -> tuple[VectorSpace, Vectors] | None:
    """Return a record's space and vectors, shape (parts, dimensions); None if it has none."""
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


def with_states(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    ids: Collection[str],
    spaces: Spaces,
) -> dict[str, TextVectors]:
    """Return the vectors and token states, by id, of those records that have vectors."""
    name, (vectors, joined) = table_of(of).name, connection.vectors
    states_column, states_joined = connection.states
    condition, values = connection.among("r.id", sorted(set(ids)))
    found = connection.rows(
        f"SELECT r.id, r.space, {vectors}, r.states, {states_column} FROM {name} AS r"  # noqa: S608
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


def token_states(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    ids: Collection[str],
    in_space: int,
    form: str,
) -> dict[str, bytes]:
    """Return the token states, by id, of those records that have any of that space and form."""
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
    """Return the bytes of all token states of an organization's records of a kind."""
    size, table = connection.states_bytes
    ((found,),) = connection.rows(
        f"SELECT coalesce(sum({size}), 0) FROM {table.format(table_of(of).name)}"  # noqa: S608
        " WHERE organization = ?",
        (number,),
    )
    return int(found)


def lacking(
    connection: Connection,
    kinds: Sequence[type[T]],
    in_space: int | None,
    form: str,
    limit: int,
    among: Collection[int] | None,
) -> list[T]:
    """Return records that lack vectors of a space or token states of a form; `among` are numbers of organizations.

    Records without any vectors come first; within both parts kinds are in their order, and the newest records first.
    """
    records, number, newest_first = connection.records_by_space
    chosen, named = ("TRUE", ()) if among is None else connection.among(number, sorted(among))
    found: list[T] = []
    without_any, *others = _lacking_ranges(in_space, form)
    ranges = [(of, without_any) for of in kinds] + [(of, each) for of in kinds for each in others]
    for of, (lacking, values) in ranges:
        table = table_of(of)
        # A range of the index by space, so that records with their vectors cost nothing.
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
    """Count the selected records that have vectors of that space and token states of that form, if one is given."""
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
    name, (token_states, joined) = table_of(of).name, connection.states
    rows = connection.stream(
        f"SELECT r.organization, r.id, r.sequence, r.states, substr({token_states}, 1, {HEAD}), length({token_states})"  # noqa: S608
        f" FROM {name} AS r {joined.format(name)} WHERE r.states IS NOT NULL"
    )
    for number, id, sequence, form, head, size in rows:
        if size is not None and are_damaged(value_text(form), head, size):
            yield number, value_text(id), sequence


def forget_damaged(connection: Connection) -> None:
    """Remove damaged vectors and token states, which are then made anew; states go with their vectors."""
    for of in TEXT_CLASSES.values():
        for place in cut_short(connection, of):
            connection.clear_embedding(of, *place, vectors=True)
        for place in list(damaged_states(connection, of)):
            connection.clear_embedding(of, *place, vectors=False)


def _lacking_ranges(wanted: int | None, form: str) -> Iterator[Condition]:
    """Yield conditions for ranges of the index by space: records without vectors of a space, or states of a form.

    The first is for records without any vectors.
    """
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
