"""Get, find, count and delete records, with the rows that belong to them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from minutebook.record.errors import InvalidInput
from minutebook.record.filters import Filter
from minutebook.record.records import Edge, Entity, Link, Record, TextRecord
from minutebook.store.sql import change_feed, entity_names
from minutebook.store.sql.conditions import order_by, ordered, selection
from minutebook.store.sql.database import Condition, Connection, Row
from minutebook.store.sql.index_source import check_id
from minutebook.store.sql.tables import (
    EDGE_CLASSES,
    GOES_WITH,
    edge_class,
    id_bytes,
    instant,
    ordering,
    table_of,
    value_text,
)
from minutebook.store.values import Group, R, Tie

_LONGEST_KEY = 1000
"""The most bytes of an id, for rows of an index are limited in size."""

_SELECTIONS = 100
"""The most selections that one statement merges."""

_ALL = 1 << 62


def check_key(record: Record) -> None:
    """Raise InvalidInput if the id of a record is too long for an index."""
    if isinstance(record, TextRecord):
        check_id(record.id)
    elif len(id_bytes(record.id)) > _LONGEST_KEY:
        raise InvalidInput("id", "must have at most {most} bytes", most=_LONGEST_KEY)


def get(
    connection: Connection, number: int | None, of: type[R], organization: str, id: str
) -> R | None:
    """Return the record with an id, or None."""
    table = table_of(of)
    condition, values = _key(number, of, id)
    row = connection.row(
        f"SELECT {table.fields} FROM {table.name} AS r WHERE {condition}",  # noqa: S608
        values,
    )
    return None if row is None else table.record_of(of, organization, row)


def find(
    connection: Connection,
    number: int | None,
    of: type[R],
    where: Filter,
    order: Sequence[str] = (),
    limit: int | None = None,
    offset: int = 0,
) -> list[R]:
    """Return the selected records, in order."""
    table = table_of(of)
    end, further = f" ORDER BY {order_by(table, order)}", tuple[int, ...]()
    if limit is not None or offset:
        end, further = f"{end} LIMIT ? OFFSET ?", (_ALL if limit is None else limit, offset)
    rows = _select(connection, number, of, where, table.fields, end, further)
    return [table.record_of(of, where.organization, row) for row in rows]


def values(
    connection: Connection,
    number: int | None,
    of: type[Record],
    where: Filter,
    fields: Sequence[str],
) -> list[Row]:
    """Return some fields of the selected records. Raises AttributeError if they have no field of a name."""
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
    """Return a page of the records of several selections (number of the organization, Filter), in order.

    Only ids are merged; then the records of the page are read.
    """
    if not wheres:
        return []
    if len(wheres) == 1:
        return find(connection, wheres[0][0], of, wheres[0][1], order, limit, offset)
    keys, values = _merged_keys(connection, of, list(enumerate(wheres)), order, limit, offset)
    wanted = [(place, value_text(id)) for place, id, *_ in connection.rows(keys, values)]
    found: dict[tuple[int, str], R] = {}
    for place in {place for place, _ in wanted}:
        number, where = wheres[place]
        ids = frozenset(id for selection, id in wanted if selection == place)
        chosen = Filter(organization=where.organization, ids=ids, with_deleted=True)
        found |= {(place, each.id): each for each in find(connection, number, of, chosen)}
    return [found[key] for key in wanted if key in found]


def _merged_keys(
    connection: Connection,
    of: type[Record],
    wheres: Sequence[tuple[int, tuple[int, Filter]]],
    order: Sequence[str],
    limit: int,
    offset: int,
) -> Condition:
    """Return the query for place and id of the records in several selections, in order.

    `wheres` has of each selection its place, the number of its organization, and its Filter.
    """
    table, parts, values = table_of(of), list[str](), list[Any]()
    if len(wheres) <= _SELECTIONS:
        fields = dict.fromkeys(name for name, _ in ordering(table, order) if name != "id")
        columns = "".join(f", r.{name} AS {name}" for name in fields)
        for place, (number, where) in wheres:
            condition, named = selection(connection, number, of, where)
            parts.append(
                f"SELECT {place} AS place, r.id AS id{columns} FROM {table.name} AS r WHERE {condition}"  # noqa: S608
            )
            values += named
    else:
        for start in range(0, len(wheres), _SELECTIONS):
            chunk = wheres[start : start + _SELECTIONS]
            part, named = _merged_keys(connection, of, chunk, order, limit + offset, 0)
            parts.append(f"SELECT * FROM ({part}) AS part")  # noqa: S608
            values += named
    by = f"{order_by(table, order)}, place".replace("r.", "")
    return connection.first_of(parts, by, limit, offset), values


def each(
    connection: Connection, number: int | None, of: type[R], where: Filter, order: Sequence[str]
) -> Iterator[R]:
    """Yield the selected records in order, with few of them in memory; the connection is inside a transaction."""
    table = table_of(of)
    condition, values = selection(connection, number, of, where)
    for row in connection.stream(
        f"SELECT {table.fields} FROM {table.name} AS r WHERE {condition}"  # noqa: S608
        f" ORDER BY {order_by(table, order)}",
        values,
    ):
        yield table.record_of(of, where.organization, row)


def ids(
    connection: Connection,
    number: int | None,
    of: type[Record],
    where: Filter,
    order: Sequence[str] = (),
    limit: int | None = None,
) -> list[str]:
    """Return the ids of the selected records, in order, at most `limit`."""
    end = f" ORDER BY {order_by(table_of(of), order)}"
    if limit is not None:
        end += f" LIMIT {limit:d}"
    return [value_text(id) for (id,) in _select(connection, number, of, where, "r.id", end)]


def count(connection: Connection, number: int | None, of: type[Record], where: Filter) -> int:
    """Count the selected records."""
    ((counted,),) = _select(connection, number, of, where, "count(*)")
    return int(counted)


def groups(
    connection: Connection,
    number: int | None,
    of: type[Record],
    where: Filter,
    by: Sequence[str],
    span: str,
) -> list[Group]:
    """Return the selected records as groups that agree in the text fields `by`, latest first by the field `span`."""
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
        Group(tuple(map(value_text, agreed)), counted, instant(first), instant(last))
        for counted, first, last, *agreed in rows
    ]


def delete(connection: Connection, number: int, of: type[Record], id: str) -> bool:
    """Remove a record with the records and rows that belong to it; tell whether it was there."""
    if not _delete(connection, number, of, _key(number, of, id)):
        return False
    if of is Entity:
        entity_names.unlist(connection, number, id)
    for part, field in GOES_WITH.get(of, ()):
        condition, values = "r.organization = ?", [number, id]
        if issubclass(part, Edge):
            condition, values = f"{condition} AND r.kind = ?", [number, part.kind, id]
        _delete(connection, number, part, (f"{condition} AND r.{field} = ?", values))
    return True


def _delete(connection: Connection, number: int, of: type[Record], chosen: Condition) -> list[str]:
    """Delete records and note that in the change feed; return their ids."""
    removed = connection.remove(number, of, chosen)
    change_feed.note_deletions(connection, number, of.kind, removed)
    return removed


def edges(
    connection: Connection,
    number: int | None,
    organization: str,
    nodes: Collection[str],
    limit: int | None,
) -> list[Edge]:
    """Return the edges that touch any of the nodes: all sorted by id, or with a limit the heaviest, heaviest first."""
    table = table_of(Link)
    found = [
        table.record_of(edge_class(kind), organization, row)
        for kind, *row in _touching(connection, number, nodes, limit, table.fields)
    ]
    # Sorted again, because SQLite sorts ids with lone surrogates last.
    return sorted(found, key=lambda e: (0 if limit is None else -e.weight, e.id, e.kind))


def ties(
    connection: Connection, number: int | None, nodes: Collection[str], limit: int
) -> list[Tie]:
    """Return the heaviest edges that touch any of the nodes, heaviest first."""
    columns = "r.id, r.source, r.target, r.type, r.weight"
    return [
        Tie(
            EDGE_CLASSES.get(kind) or edge_class(kind),
            value_text(id),
            value_text(source),
            value_text(target),
            value_text(type),
            weight,
        )
        for kind, id, source, target, type, weight in _touching(
            connection, number, nodes, limit, columns
        )
    ]


def _touching(
    connection: Connection,
    number: int | None,
    nodes: Collection[str],
    limit: int | None,
    columns: str,
) -> Iterable[Row]:
    """Return the kind and some columns of the edges that touch any of the nodes."""
    query, values = connection.edges_at(f"r.kind, {columns}", number, sorted(set(nodes)))
    order = "id, kind" if limit is None else "weight DESC, id, kind"
    values = (*values, _ALL if limit is None else limit)
    return connection.rows(f"{query} ORDER BY {order} LIMIT ?", values)


def neighbours(
    connection: Connection,
    number: int | None,
    of: type[TextRecord],
    ids: Collection[str],
    reach: int,
) -> dict[str, list[str]]:
    """Return for each of the ids up to `reach` ids before it and as many after it, nearest first."""
    columns = [
        f"(SELECT b.id FROM {table_of(of).name} AS b WHERE b.organization = ? AND b.id {sign} given.id"  # noqa: S608
        f" ORDER BY b.id{order} LIMIT 1 OFFSET {place})"
        for place in range(reach)
        for sign, order in (("<", " DESC"), (">", ""))
    ]
    listed, values = connection.listed(sorted(set(ids)))
    rows = connection.rows(
        f"WITH given (id) AS MATERIALIZED ({listed}) SELECT id, {', '.join(columns)} FROM given",  # noqa: S608
        (*values, *[number] * len(columns)),
    )
    return {
        value_text(id): [value_text(each) for each in others if each is not None]
        for id, *others in rows
    }


def _select(
    connection: Connection,
    number: int | None,
    of: type[Record],
    where: Filter,
    columns: str,
    end: str = "",
    further: Sequence[Any] = (),
) -> list[Row]:
    """Return columns of the selected records; `end` is SQL after the condition, `further` are its values."""
    condition, values = selection(connection, number, of, where)
    return connection.rows(
        f"SELECT {columns} FROM {table_of(of).name} AS r WHERE {condition}{end}",  # noqa: S608
        (*values, *further),
    )


def _key(number: int | None, of: type[Record], id: str) -> Condition:
    if "kind" in table_of(of).stored:
        return "r.organization = ? AND r.id = ? AND r.kind = ?", (number, id, of.kind)
    return "r.organization = ? AND r.id = ?", (number, id)
