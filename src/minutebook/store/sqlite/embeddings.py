"""Vectors as they are kept: float16 rows in one blob, each record's in the space of one model.

Token states are kept beside them, in a table of their own because few records' are read.
"""

from collections.abc import Collection, Iterator, Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter
from minutebook.domain.records import TextRecord
from minutebook.search.late_interaction import HEAD
from minutebook.store.protocol import T, Vectors, VectorSpace
from minutebook.store.sql.tables import Value, value_text
from minutebook.store.sql.vector_rows import are_damaged, checked_rows, rows_of
from minutebook.store.sqlite import change_feed
from minutebook.store.sqlite.tables import padded, selection, table_of, text_value
from minutebook.store.transfer import Embedding

_BATCH = 512

CUT_SHORT = """FROM {0} AS r JOIN {0}_vectors AS v ON v.row = r.row JOIN spaces AS s ON s.number = r.space
    WHERE length(v.vectors) = 0 OR length(v.vectors) % (2 * s.dimensions) <> 0"""
"""The records of a table whose vectors are cut short."""


def put(
    connection: apsw.Connection,
    of: type[TextRecord],
    organization: str,
    id: str,
    space: VectorSpace,
    vectors: Vectors,
    states: bytes | None,
) -> None:
    """Keep a record's vectors and states in place of earlier ones. Raises NotFound, InvalidInput."""
    keep(connection, of, organization, id, space, checked_rows(space, vectors, states), states)


def keep(
    connection: apsw.Connection,
    of: type[TextRecord],
    organization: str,
    id: str,
    space: VectorSpace,
    rows: NDArray[np.float16],
    states: bytes | None,
) -> None:
    """Keep rows that were checked, and states, in place of earlier ones. Raises NotFound."""
    table = table_of(of)
    row = connection.execute(
        f"SELECT row FROM {table.name}"  # noqa: S608
        " WHERE organization = (SELECT number FROM organizations WHERE name = ?) AND id = ?",
        (text_value(organization), text_value(id)),
    ).get
    if row is None:
        raise NotFound(of.kind, id)
    organization_number, sequence = change_feed.begin_change(connection, organization)
    number = _number_for(connection, space)
    connection.execute(
        f"INSERT OR REPLACE INTO {table.name}_vectors VALUES (?, ?)",  # noqa: S608
        (row, rows.tobytes()),
    )
    if states is None:
        connection.execute(f"DELETE FROM {table.name}_states WHERE row = ?", (row,))  # noqa: S608
    else:
        connection.execute(
            f"INSERT OR REPLACE INTO {table.name}_states VALUES (?, ?, ?, ?, ?)",  # noqa: S608
            (row, organization_number, number, space.states, states),
        )
    connection.execute(
        f"UPDATE {table.name} SET space = ?, states = ?, sequence = ? WHERE row = ?",  # noqa: S608
        (number, None if states is None else space.states, sequence, row),
    )


def replace(connection: apsw.Connection, record: TextRecord, kept: Embedding | None) -> None:
    """Keep these vectors and states of a record that is there, and no others."""
    of, organization, id = type(record), record.organization, record.id
    if kept is not None:
        keep(connection, of, organization, id, kept.space, kept.vectors, kept.states)
    else:
        name = table_of(of).name
        rows = connection.execute(
            f"UPDATE {name} SET space = NULL, states = NULL WHERE space IS NOT NULL AND organization ="  # noqa: S608
            " (SELECT number FROM organizations WHERE name = ?) AND id = ? RETURNING row",
            (text_value(organization), text_value(id)),
        )
        for row in [int(row) for (row,) in rows]:
            remove(connection, of, row)


def get(
    connection: apsw.Connection, of: type[TextRecord], organization: str, id: str
) -> tuple[VectorSpace, Vectors] | None:
    """Return a record's space and vectors, shape (parts, dimensions), or None."""
    table = table_of(of)
    found = connection.execute(
        "SELECT s.name, s.digest, s.dimensions, v.vectors"  # noqa: S608
        f" FROM {table.name} AS r JOIN {table.name}_vectors AS v ON v.row = r.row"
        " JOIN spaces AS s ON s.number = r.space"
        " WHERE r.organization = (SELECT number FROM organizations WHERE name = ?) AND r.id = ?",
        (text_value(organization), text_value(id)),
    ).get
    if found is None:
        return None
    name, digest, dimensions, stored = found
    rows = rows_of(stored, dimensions, table.name)
    return VectorSpace(value_text(name), value_text(digest), dimensions), rows.astype(np.float32)


def forget_damaged(connection: apsw.Connection, of: type[TextRecord]) -> None:
    """Remove vectors that are cut short, with the states of their records, and damaged states: they are made anew."""
    name = table_of(of).name
    rows = connection.execute(
        f"UPDATE {name} SET space = NULL, states = NULL WHERE row IN"  # noqa: S608
        f" (SELECT r.row {CUT_SHORT.format(name)}) RETURNING row"
    )
    for row in [int(row) for (row,) in rows]:
        remove(connection, of, row)
    for row in list(damaged_states(connection, of)):
        connection.execute(f"DELETE FROM {name}_states WHERE row = ?", (row,))  # noqa: S608
        connection.execute(f"UPDATE {name} SET states = NULL WHERE row = ?", (row,))  # noqa: S608


def damaged_states(connection: apsw.Connection, of: type[TextRecord]) -> Iterator[int]:
    """Yield the rows of the records whose token states are damaged."""
    for row, form, head, size in connection.execute(
        f"SELECT row, form, substr(states, 1, {HEAD}), length(states) FROM {table_of(of).name}_states"  # noqa: S608
    ):
        if are_damaged(value_text(form), head, size):
            yield row


def states(
    connection: apsw.Connection,
    of: type[TextRecord],
    organization: str,
    ids: Collection[str],
    space: VectorSpace,
) -> dict[str, bytes]:
    """Return the states, by id, of those records that have some of that space and form."""
    table, number = table_of(of), number_of(connection, space)
    found: dict[str, bytes] = {}
    if number is None:
        return found
    distinct = sorted(set(ids))
    for start in range(0, len(distinct), _BATCH):
        batch = padded([text_value(id) for id in distinct[start : start + _BATCH]])
        rows = connection.execute(
            f"SELECT r.id, s.states FROM {table.name} AS r"  # noqa: S608
            f" CROSS JOIN {table.name}_states AS s ON s.row = r.row"
            " WHERE r.organization = (SELECT number FROM organizations WHERE name = ?)"
            f" AND r.id IN ({', '.join('?' * len(batch))}) AND s.space = ? AND s.form = ?",
            (text_value(organization), *batch, number, space.states),
        )
        found.update((value_text(id), stored) for id, stored in rows)
    return found


def states_size(connection: apsw.Connection, of: type[TextRecord], organization: str) -> int:
    """Sum the bytes of the states of an organization's records of a kind."""
    size: int = connection.execute(
        f"SELECT coalesce(sum(length(states)), 0) FROM {table_of(of).name}_states"  # noqa: S608
        " WHERE organization = (SELECT number FROM organizations WHERE name = ?)",
        (text_value(organization),),
    ).get
    return size


def remove(connection: apsw.Connection, of: type[TextRecord], row: int) -> None:
    """Remove the vectors and states of a row; its `space` and `states` are the caller's to clear."""
    for ending in ("vectors", "states"):
        connection.execute(f"DELETE FROM {table_of(of).name}_{ending} WHERE row = ?", (row,))  # noqa: S608


def number_of(connection: apsw.Connection, space: VectorSpace) -> int | None:
    """Return the number of a vector space, or None if no vector was ever kept in it."""
    found: int | None = connection.execute(
        "SELECT number FROM spaces WHERE name = ? AND digest = ? AND dimensions = ?",
        (text_value(space.name), text_value(space.digest), space.dimensions),
    ).get
    return found


def space_of(connection: apsw.Connection, number: int) -> VectorSpace:
    """Return the vector space with a number."""
    name, digest, dimensions = connection.execute(
        "SELECT name, digest, dimensions FROM spaces WHERE number = ?", (number,)
    ).get
    return VectorSpace(value_text(name), value_text(digest), dimensions)


def without(
    connection: apsw.Connection,
    kinds: Sequence[type[T]],
    space: VectorSpace,
    limit: int,
    among: Collection[str] | None,
) -> list[T]:
    """Return records that lack vectors of that space or states of its form, in the order of the kinds."""
    organizations, numbers = _organizations(connection, among)
    found: list[T] = []
    for of in kinds:
        table = table_of(of)
        for lacking, values in _lacking(number_of(connection, space), space.states):
            # For each organization a range of the index: what is done already costs nothing.
            rows = connection.execute(
                f"SELECT o.name, {table.fields} FROM {organizations} AS o"  # noqa: S608
                f" CROSS JOIN {table.name} AS r INDEXED BY {table.name}_by_space"
                f" WHERE r.organization = o.number AND {lacking}"
                " LIMIT ?",
                (*numbers, *values, limit - len(found)),
            )
            found += (table.record_of(of, value_text(name), row) for name, *row in rows)
            if len(found) >= limit:
                return found
    return found


def count(
    connection: apsw.Connection, of: type[TextRecord], where: Filter, space: VectorSpace
) -> int:
    """Count the selected records that have vectors of that space and states of its form."""
    table, number = table_of(of), number_of(connection, space)
    if number is None:
        return 0
    condition, values = selection(of, where)
    if space.states:
        condition += " AND r.states = ?"
        values.append(space.states)
    counted: int = connection.execute(
        f"SELECT count(*) FROM {table.name} AS r WHERE {condition} AND r.space = ?",  # noqa: S608
        (*values, number),
    ).get
    return counted


def _organizations(
    connection: apsw.Connection, among: Collection[str] | None
) -> tuple[str, list[Value]]:
    """Return the SQL of a table of all organizations, or of those in `among`, and its parameters."""
    if among is None:
        return "organizations", []
    known = [change_feed.number_of(connection, name) for name in sorted(set(among))]
    numbers = padded([number for number in known if number is not None])
    marks = ", ".join("?" * len(numbers))
    return f"(SELECT name, number FROM organizations WHERE number IN ({marks}))", numbers  # noqa: S608


def _lacking(wanted: int | None, form: str) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield conditions on the index by space that select records without such vectors or states."""
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


def _number_for(connection: apsw.Connection, space: VectorSpace) -> int:
    number = number_of(connection, space)
    if number is None:
        connection.execute(
            "INSERT INTO spaces(name, digest, dimensions) VALUES (?, ?, ?)",
            (text_value(space.name), text_value(space.digest), space.dimensions),
        )
        number = connection.last_insert_rowid()
    return number
