"""Put, get, find, count and delete records, with all that goes with them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from minutebook.domain.errors import InvalidInput
from minutebook.domain.filters import Filter
from minutebook.domain.records import (
    CLASSES,
    Edge,
    Entity,
    Kind,
    Link,
    Record,
    TextRecord,
)
from minutebook.store.postgres import change_feed, entity_names
from minutebook.store.postgres.change_feed import NEXT_SEQUENCE
from minutebook.store.postgres.connections import Connection
from minutebook.store.postgres.errors import damaged
from minutebook.store.postgres.tables import (
    Selection,
    derived,
    order_by,
    ordered,
    quoted,
    selection,
    table_of,
)
from minutebook.store.protocol import Group, R, Tie, VectorSpace
from minutebook.store.sql.beside import beside_columns, ids_beside
from minutebook.store.sql.index_columns import check_id
from minutebook.store.sql.tables import GOES_WITH, TIE_FIELDS, Table, edge_class, instant, ordering
from minutebook.store.transfer import Carried, Embedding

_FETCHED = 500
"""Rows that a cursor on the server gives at once."""

_LONGEST_KEY = 1000
"""Bytes of an id that a row of an index has room for."""

_EMBEDDING = ("space", "vectors", "states", "token_states")

_SELECTIONS = 100
"""Selections that one statement merges."""


def put(connection: Connection, number: int, record: Record) -> None:
    """Keep a record in place of any with its key. Raises InvalidInput if the id is too long."""
    values = _values(record)
    connection.execute(
        _insertion(record.kind), (number, number, record.kind, record.id, number, *values)
    )
    if isinstance(record, Entity):
        entity_names.keep(connection, number, record)


def put_many(
    connection: Connection,
    number: int,
    carried: Sequence[Carried],
    spaces: Mapping[VectorSpace, int],
) -> None:
    """Keep records, in one stream, with these vectors and states and no others.

    `spaces` has the numbers of their spaces. Raises InvalidInput if an id is too long.
    """
    by_kind: dict[Kind, list[tuple[Any, ...]]] = {}
    first = change_feed.drawn(connection, number, len(carried))
    for sequence, each in enumerate(carried, first):
        values = (number, sequence, *_values(each.record))
        if isinstance(each.record, TextRecord):
            values += _beside(each.embedding, spaces)
        by_kind.setdefault(each.record.kind, []).append(values)
    for kind, rows in by_kind.items():
        ids = [each.record.id for each in carried if each.record.kind is kind]
        change_feed.forget_deletions(connection, number, kind, ids)
        with connection.cursor() as cursor:
            cursor.executemany(_whole_insertion(kind), rows)
    for each in carried:
        if isinstance(each.record, Entity):
            entity_names.keep(connection, number, each.record)


def get(connection: Connection, number: int, of: type[R], organization: str, id: str) -> R | None:
    """Return the record with an id, or None."""
    table = table_of(of)
    condition, values = _key(number, of, id)
    row = connection.execute(
        f"SELECT {table.fields} FROM {table.name} AS r WHERE {condition}",  # noqa: S608
        values,
    ).fetchone()
    return None if row is None else table.record_of(of, organization, row)


def find(
    connection: Connection,
    number: int,
    of: type[R],
    where: Filter,
    order: Sequence[str],
    limit: int | None,
    offset: int,
) -> list[R]:
    """Return the selected records, in order."""
    table = table_of(of)
    end = f" ORDER BY {order_by(table, order)} LIMIT %s OFFSET %s"
    rows = _select(connection, number, of, where, table.fields, end, (limit, offset))
    return [table.record_of(of, where.organization, row) for row in rows]


def values(
    connection: Connection, number: int, of: type[Record], where: Filter, fields: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return some fields of the selected records. Raises AttributeError if there is none of a name."""
    projection = table_of(of).projection(fields)
    found = _select(connection, number, of, where, projection.columns)
    return [projection.values_of(row) for row in found]


def page(
    connection: Connection,
    of: type[R],
    wheres: Sequence[tuple[int, Filter]],
    order: Sequence[str],
    limit: int,
    offset: int,
) -> list[R]:
    """Return a page of several selections: the first of each are merged on the server."""
    found: list[R] = []
    for start in range(0, len(wheres), _SELECTIONS):
        found += _merged(connection, of, wheres[start : start + _SELECTIONS], order, limit + offset)
    # Each sort keeps what is equal in the order of those before it: at last that of the selections.
    for name, descends in reversed(ordering(table_of(of), order)):
        found.sort(
            key=lambda record, name=name: _none_first(getattr(record, name)),  # type: ignore[misc]
            reverse=descends,
        )
    return found[offset : offset + limit]


def each(
    connection: Connection, number: int, of: type[R], where: Filter, order: Sequence[str]
) -> Iterator[R]:
    """Yield the selected records one at a time, in order; the connection is inside a transaction."""
    table = table_of(of)
    condition, values = selection(number, of, where)
    with connection.cursor(name="each") as cursor:
        cursor.itersize = _FETCHED
        cursor.execute(
            f"SELECT {table.fields} FROM {table.name} AS r WHERE {condition}"  # noqa: S608
            f" ORDER BY {order_by(table, order)}",
            values,
        )
        for row in cursor:
            yield table.record_of(of, where.organization, row)


def ids(
    connection: Connection,
    number: int,
    of: type[Record],
    where: Filter,
    order: Sequence[str],
    limit: int | None = None,
) -> list[str]:
    """Return the ids of the selected records, in order, at most `limit`."""
    end = f" ORDER BY {order_by(table_of(of), order)}"
    if limit is not None:
        end += f" LIMIT {limit:d}"
    return [id for (id,) in _select(connection, number, of, where, "r.id", end)]


def count(connection: Connection, number: int, of: type[Record], where: Filter) -> int:
    """Count the selected records."""
    ((counted,),) = _select(connection, number, of, where, "count(*)")
    return int(counted)


def groups(
    connection: Connection,
    number: int,
    of: type[Record],
    where: Filter,
    by: Sequence[str],
    span: str,
) -> list[Group]:
    """Put together the selected records that agree in some text fields, latest first."""
    columns = [f"r.{name}" for name in by]
    rows = _select(
        connection,
        number,
        of,
        where,
        f"count(*), min(r.{span}), max(r.{span}) AS latest, {', '.join(columns)}",
        f" GROUP BY {', '.join(columns)} ORDER BY latest DESC, {', '.join(map(ordered, columns))}",
    )
    return [
        Group(tuple(agreed), counted, instant(first), instant(last))
        for counted, first, last, *agreed in rows
    ]


def delete(
    connection: Connection, number: int, of: type[Record], organization: str, id: str
) -> bool:
    """Remove a record and all that goes with it; tell whether it was there."""
    if not _delete_where(connection, number, of, _key(number, of, id)):
        return False
    if of is Entity:
        entity_names.forget(connection, number, id)
    for part, field in GOES_WITH.get(of, ()):
        where = Filter(organization=organization, equal={field: id}, with_deleted=True)
        _delete_where(connection, number, part, selection(number, part, where))
    return True


def edges(
    connection: Connection,
    number: int,
    organization: str,
    nodes: Collection[str],
    limit: int | None,
) -> list[Edge]:
    """Return the edges that touch any of the nodes: all by id, or the heaviest, heaviest first."""
    table = table_of(Link)
    return [
        table.record_of(edge_class(kind, damaged), organization, row)
        for kind, *row in _touching(connection, number, nodes, limit, table.fields)
    ]


def beside(
    connection: Connection, number: int, of: type[TextRecord], ids: Collection[str], reach: int
) -> dict[str, list[str]]:
    """Return, by id, the ids that stand beside it, nearest first."""
    columns = beside_columns(table_of(of).name, "%(number)s", reach)
    rows = connection.execute(
        f'WITH given AS (SELECT id COLLATE "C" AS id FROM unnest(%(ids)s::text[]) AS given (id)) SELECT id, {columns} FROM given',  # noqa: S608
        {"number": number, "ids": sorted(set(ids))},
    )
    return ids_beside(rows)


def ties(connection: Connection, number: int, nodes: Collection[str], limit: int) -> list[Tie]:
    """Return the heaviest edges that touch any of the nodes, heaviest first."""
    rows = _touching(connection, number, nodes, limit, TIE_FIELDS)
    return [Tie(edge_class(kind, damaged), *row) for kind, *row in rows]


def _touching(
    connection: Connection, number: int, nodes: Collection[str], limit: int | None, columns: str
) -> Iterable[tuple[Any, ...]]:
    """Return the kind and some columns of the edges that touch any of the nodes."""
    distinct = sorted(set(nodes))
    order = "r.id, r.kind" if limit is None else "r.weight DESC, r.id, r.kind"
    return connection.execute(
        f"SELECT r.kind, {columns} FROM edges AS r WHERE r.organization = %s"  # noqa: S608
        f" AND (r.source = ANY(%s) OR r.target = ANY(%s)) ORDER BY {order} LIMIT %s",
        (number, distinct, distinct, limit),
    )


def _select(
    connection: Connection,
    number: int,
    of: type[Record],
    where: Filter,
    columns: str,
    end: str = "",
    further: Sequence[Any] = (),
) -> list[tuple[Any, ...]]:
    """Query columns of the selected records; `end` follows the condition, `further` are its values."""
    condition, values = selection(number, of, where)
    return connection.execute(
        f"SELECT {columns} FROM {table_of(of).name} AS r WHERE {condition}{end}",  # noqa: S608
        (*values, *further),
    ).fetchall()


def _merged(
    connection: Connection,
    of: type[R],
    wheres: Sequence[tuple[int, Filter]],
    order: Sequence[str],
    needed: int,
) -> list[R]:
    """Return the first records of each of some selections, one after the other."""
    table, parts, values = table_of(of), list[str](), list[Any]()
    for index, (number, where) in enumerate(wheres):
        condition, named = selection(number, of, where)
        parts.append(
            f"(SELECT {index}, {table.fields} FROM {table.name} AS r WHERE {condition}"  # noqa: S608
            f" ORDER BY {order_by(table, order)} LIMIT %s)"
        )
        values += (*named, needed)
    found = connection.execute(" UNION ALL ".join(parts), values).fetchall()
    rows = sorted(found, key=lambda row: int(row[0]))
    return [table.record_of(of, wheres[index][1].organization, row) for index, *row in rows]


def _values(record: Record) -> list[Any]:
    """Return the columns that are made of a record. Raises InvalidInput if its id is too long."""
    if isinstance(record, TextRecord):
        check_id(record.id)
    elif len(record.id.encode("utf-8", "surrogatepass")) > _LONGEST_KEY:
        raise InvalidInput("id", "must have at most {most} bytes", most=_LONGEST_KEY)
    table = table_of(type(record))
    return [*table.values(record), *(make(record) for make in derived(table).values())]


def _beside(kept: Embedding | None, spaces: Mapping[VectorSpace, int]) -> tuple[Any, ...]:
    """Return the columns of vectors and states, as `_EMBEDDING` names them."""
    if kept is None:
        return None, None, None, None
    form = None if kept.states is None else kept.space.states
    return spaces[kept.space], kept.vectors.tobytes(), form, kept.states


@cache
def _insertion(kind: Kind) -> str:
    """Write what keeps a record, gives it the next sequence and takes its mark of deletion away."""
    table = table_of(CLASSES[kind])
    columns, further = _columns(table), list[str]()
    if table.has_text:
        kept = "CASE WHEN r.text_digest = EXCLUDED.text_digest THEN r.{0} END"
        further = [f"{name} = {kept.format(name)}" for name in _EMBEDDING]
    return (
        f"WITH drawn AS ({NEXT_SEQUENCE}), back AS (DELETE FROM deletions"  # noqa: S608
        " WHERE organization = %s AND kind = %s AND id = %s)"
        f"{_upsert(table, 'SELECT %s, drawn.sequence, {} FROM drawn', columns, further)}"
    )


@cache
def _whole_insertion(kind: Kind) -> str:
    """Write what keeps a record of a sequence that was drawn, with what stands beside its text."""
    table = table_of(CLASSES[kind])
    beside = _EMBEDDING if table.has_text else ()
    return _upsert(table, "VALUES (%s, %s, {})", [*_columns(table), *beside], [])


def _columns(table: Table) -> list[str]:
    return [*table.stored, *derived(table)]


def _upsert(table: Table, source: str, columns: Sequence[str], further: Sequence[str]) -> str:
    """Write the insertion of columns, or their assignment, with further ones, if the record is there.

    `source` has a place for the columns' values, after organization and sequence.
    """
    key = ("organization", "kind", "id") if "kind" in table.stored else ("organization", "id")
    assigned = [f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in columns if name not in key]
    return (
        f" INSERT INTO {table.name} AS r (organization, sequence, {', '.join(map(quoted, columns))})"
        f" {source.format(', '.join(['%s'] * len(columns)))}"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET sequence = EXCLUDED.sequence,"
        f" {', '.join([*assigned, *further])}"
    )


def _key(number: int, of: type[Record], id: str) -> Selection:
    condition = "r.organization = %s AND r.id = %s"
    values: list[Any] = [number, id]
    if "kind" in table_of(of).stored:
        return f"{condition} AND r.kind = %s", [*values, of.kind]
    return condition, values


def _delete_where(
    connection: Connection, number: int, of: type[Record], chosen: Selection
) -> list[str]:
    """Delete records and leave their marks; return their ids."""
    condition, values = chosen
    rows = connection.execute(
        f"DELETE FROM {table_of(of).name} AS r WHERE {condition} RETURNING r.id",  # noqa: S608
        values,
    )
    gone = [id for (id,) in rows]
    change_feed.note_deletions(connection, number, of.kind, gone)
    return gone


def _none_first(value: Any) -> tuple[bool, Any]:
    return (False, 0) if value is None else (True, value)
