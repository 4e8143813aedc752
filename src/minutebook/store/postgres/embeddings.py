"""Vectors in the row of their record: float16 rows in the space of one model, and token states."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter
from minutebook.domain.records import TEXT_CLASSES, TextRecord
from minutebook.search.late_interaction import HEAD
from minutebook.store.postgres.connections import Connection, Connections
from minutebook.store.postgres.numbers import register_space
from minutebook.store.postgres.tables import selection, table_of
from minutebook.store.protocol import T, Vectors, VectorSpace
from minutebook.store.sql.vector_rows import are_damaged, rows_of
from minutebook.store.transfer import Embedding

CUT_SHORT = """FROM {0} AS r JOIN spaces AS s ON s.number = r.space
    WHERE octet_length(r.vectors) = 0 OR octet_length(r.vectors) % (2 * s.dimensions) <> 0"""
"""The records of a table whose vectors are cut short."""


class Spaces:
    """The numbers of spaces, which stay what they are."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._numbers: dict[VectorSpace, int] = {}

    def number_of(self, space: VectorSpace) -> int | None:
        """Return the number that stands for a space, None if nothing was kept in it."""
        if space not in self._numbers:
            self._read()
        return self._numbers.get(space)

    def registered(self, space: VectorSpace) -> int:
        """Return the number of a space, which is given one for good if it has none."""
        number = self.number_of(space)
        if number is not None:
            return number
        with self._connections.registering() as connection:
            register_space(connection, (space.name, space.digest, space.dimensions))
        self._read()
        return self._numbers[space]

    def all(self) -> list[tuple[int, VectorSpace]]:
        """Return every space with its number."""
        self._read()
        return sorted((number, space) for space, number in self._numbers.items())

    def of(self, number: int) -> VectorSpace:
        """Return the space that a number stands for."""
        found = [space for space, known in self._numbers.items() if known == number]
        return found[0] if found else dict(self.all())[number]

    def _read(self) -> None:
        with self._connections.committed() as connection:
            rows = connection.execute("SELECT number, name, digest, dimensions FROM spaces")
            self._numbers = {VectorSpace(*space): number for number, *space in rows}


def put(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    id: str,
    form: str,
    space: int,
    rows: NDArray[np.float16],
    states: bytes | None,
) -> None:
    """Keep a record's rows, and states of that form, in place of earlier ones. Raises NotFound."""
    name = table_of(of).name
    there = f"SELECT 1 FROM {name} WHERE organization = %s AND id = %s"  # noqa: S608
    changed = connection.execute(
        f"WITH drawn AS (UPDATE feeds SET sequence = sequence + 1 WHERE organization = %s"  # noqa: S608
        f" AND EXISTS ({there}) RETURNING sequence)"
        f" UPDATE {name} SET space = %s, vectors = %s, states = %s, token_states = %s,"
        " sequence = (SELECT sequence FROM drawn) WHERE organization = %s AND id = %s",
        (
            *(number, number, id),
            *(space, rows.tobytes(), None if states is None else form, states),
            *(number, id),
        ),
    )
    if not changed.rowcount:
        raise NotFound(of.kind, id)


def get(
    connection: Connection, number: int, of: type[TextRecord], id: str, spaces: Spaces
) -> tuple[VectorSpace, Vectors] | None:
    """Return a record's space and vectors, shape (parts, dimensions), or None."""
    found = connection.execute(
        f"SELECT space, vectors FROM {table_of(of).name}"  # noqa: S608
        " WHERE organization = %s AND id = %s AND space IS NOT NULL",
        (number, id),
    ).fetchone()
    if found is None:
        return None
    space = spaces.of(found[0])
    rows = rows_of(found[1], space.dimensions, table_of(of).name)
    return space, rows.astype(np.float32)


def whole(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    ids: Collection[str],
    spaces: Spaces,
) -> dict[str, Embedding]:
    """Return, by id, the rows and states of those records that have vectors."""
    found = connection.execute(
        f"SELECT id, space, vectors, states, token_states FROM {table_of(of).name}"  # noqa: S608
        " WHERE organization = %s AND id = ANY(%s) AND space IS NOT NULL",
        (number, sorted(set(ids))),
    )
    embeddings = {}
    for id, in_space, vectors, form, token_states in found.fetchall():
        space = replace(spaces.of(in_space), states=form or "")
        rows = rows_of(vectors, space.dimensions, table_of(of).name)
        embeddings[id] = Embedding(space, rows, token_states)
    return embeddings


def forget_damaged(connections: Connections) -> None:
    """Remove vectors that are cut short, with the states of their records, and damaged states: they are made anew."""
    for of in TEXT_CLASSES.values():
        with connections.committed() as connection:
            _forget_damaged(connection, of)


def _forget_damaged(connection: Connection, of: type[TextRecord]) -> None:
    name = table_of(of).name
    cut = connection.execute(
        f"SELECT r.organization, r.id, octet_length(r.vectors) {CUT_SHORT.format(name)}"
    ).fetchall()
    for number, id, size in cut:
        connection.execute(
            f"UPDATE {name} SET space = NULL, vectors = NULL, states = NULL, token_states = NULL"  # noqa: S608
            " WHERE organization = %s AND id = %s AND octet_length(vectors) = %s",
            (number, id, size),
        )
    for number, id in list(damaged_states(connection, of)):
        connection.execute(
            f"UPDATE {name} SET states = NULL, token_states = NULL"  # noqa: S608
            " WHERE organization = %s AND id = %s",
            (number, id),
        )


def damaged_states(connection: Connection, of: type[TextRecord]) -> Iterator[tuple[int, str]]:
    """Yield the number of the organization and the id of each record whose token states are damaged."""
    with connection.cursor() as cursor:
        for number, id, form, head, size in cursor.stream(
            f"SELECT r.organization, r.id, r.states, substring(r.token_states FOR {HEAD}),"  # noqa: S608
            f" octet_length(r.token_states) FROM {table_of(of).name} AS r WHERE r.states IS NOT NULL"
        ):
            if are_damaged(form, head, size):
                yield number, id


def states(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    ids: Collection[str],
    space: int,
    form: str,
) -> dict[str, bytes]:
    """Return the states, by id, of those records that have some of that space and form."""
    rows = connection.execute(
        f"SELECT id, token_states FROM {table_of(of).name}"  # noqa: S608
        " WHERE organization = %s AND id = ANY(%s) AND space = %s AND states = %s",
        (number, sorted(set(ids)), space, form),
    )
    return dict(rows.fetchall())


def states_size(connection: Connection, number: int, of: type[TextRecord]) -> int:
    """Sum the bytes of the states of an organization's records of a kind."""
    found = connection.execute(
        f"SELECT coalesce(sum(octet_length(token_states)), 0) FROM {table_of(of).name}"  # noqa: S608
        " WHERE organization = %s",
        (number,),
    ).fetchone()
    return int(found[0]) if found else 0


def without(
    connection: Connection,
    kinds: Sequence[type[T]],
    space: int | None,
    form: str,
    limit: int,
    among: Collection[int] | None,
) -> list[T]:
    """Return records that lack vectors of that space or states of that form, in the order of the kinds."""
    chosen, named = "", list[Any]()
    if among is not None:
        chosen, named = " AND r.organization = ANY(%s)", [sorted(among)]
    found: list[T] = []
    for of in kinds:
        table = table_of(of)
        for lacking, values in _lacking(space, form):
            # A range of the index by space: what is done already costs nothing.
            rows = connection.execute(
                f"SELECT o.name, {table.fields} FROM {table.name} AS r"  # noqa: S608
                f" JOIN organizations AS o ON o.number = r.organization WHERE {lacking}{chosen}"
                " LIMIT %s",
                (*values, *named, limit - len(found)),
            )
            found += [table.record_of(of, name, row) for name, *row in rows]
            if len(found) >= limit:
                return found
    return found


def count(
    connection: Connection,
    number: int,
    of: type[TextRecord],
    where: Filter,
    space: int,
    form: str,
) -> int:
    """Count the selected records that have vectors of that space and states of its form."""
    condition, values = selection(number, of, where)
    if form:
        condition += " AND r.states = %s"
        values.append(form)
    found = connection.execute(
        f"SELECT count(*) FROM {table_of(of).name} AS r WHERE {condition} AND r.space = %s",  # noqa: S608
        (*values, space),
    ).fetchone()
    return int(found[0]) if found else 0


def _lacking(wanted: int | None, form: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the ranges of the index by space in which there are no vectors, or states, of those."""
    yield "r.space IS NULL", ()
    if wanted is None:
        yield "r.space > 0", ()
        return
    yield "r.space < %s", (wanted,)
    yield "r.space > %s", (wanted,)
    if form:
        yield "r.space = %s AND r.states IS NULL", (wanted,)
        yield "r.space = %s AND r.states < %s", (wanted, form)
        yield "r.space = %s AND r.states > %s", (wanted, form)
