"""Put, get, find, count and delete records, with all that goes with them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import (
    Edge,
    Entity,
    Link,
    Record,
    TextRecord,
)
from minutebook.store.protocol import Group, R, Tie
from minutebook.store.sql.beside import beside_columns, ids_beside
from minutebook.store.sql.index_columns import check_id
from minutebook.store.sql.tables import (
    EDGE_CLASSES,
    GOES_WITH,
    TIE_FIELDS,
    Table,
    Value,
    edge_class,
    instant,
    value_text,
)
from minutebook.store.sqlite import change_feed, embeddings, entity_names, texts
from minutebook.store.sqlite.errors import damaged
from minutebook.store.sqlite.tables import (
    LISTED,
    Selection,
    order_by,
    selection,
    table_of,
    text_list,
    text_value,
)

_SELECTIONS = 100
"""Selections that one compound statement merges; SQLite allows 500."""


def put(connection: apsw.Connection, record: Record) -> None:
    """Keep a record in place of any with its organization, kind and id, and index its text."""
    if isinstance(record, TextRecord):
        check_id(record.id)
    number, sequence = change_feed.begin_change(connection, record.organization)
    if isinstance(record, TextRecord):
        _put_with_text(connection, number, sequence, record)
    else:
        table = table_of(type(record))
        values = (number, sequence, *table.values(record))
        connection.execute(_insertion("INSERT OR REPLACE", table), values)
        change_feed.forget_deletion(connection, number, record.kind, record.id)
    if isinstance(record, Entity):
        entity_names.keep(connection, number, record)


def get(connection: apsw.Connection, of: type[R], organization: str, id: str) -> R | None:
    """Return the record with an id, or None."""
    table = table_of(of)
    condition, values = _key(of, organization, id)
    row = connection.execute(
        f"SELECT {table.fields} FROM {table.name} AS r WHERE {condition}",  # noqa: S608
        values,
    ).get
    return None if row is None else table.record_of(of, organization, row)


def page(
    connection: apsw.Connection,
    of: type[R],
    wheres: Sequence[Filter],
    order: Sequence[str],
    limit: int,
    offset: int,
) -> list[R]:
    """Return a page of several selections: keys are merged in the order of indices, then records read."""
    if len(wheres) == 1:
        return list(each(connection, of, wheres[0], order, limit, offset))
    keys, values = _merged_keys(of, wheres, order, offset + limit)
    rows = (
        connection.execute(f"{keys} LIMIT ? OFFSET ?", (*values, limit, offset)) if wheres else ()
    )
    found = [get(connection, of, value_text(name), value_text(id)) for name, id, *_ in rows]
    return [record for record in found if record is not None]


def _merged_keys(
    of: type[Record], wheres: Sequence[Filter], order: Sequence[str], needed: int
) -> Selection:
    """Write the query for organization and id of what several selections hold, in order.

    SQLite merges the parts of a UNION ALL, each in the order of its index, and stops at the limit.
    """
    table, values, parts = table_of(of), list[Value](), list[str]()
    names = dict.fromkeys(field.removeprefix("-") for field in order)
    columns = "".join(f", r.{name} AS {name}" for name in names if name != "id")
    for where in wheres if len(wheres) <= _SELECTIONS else ():
        condition, named = selection(of, where)
        values += (text_value(where.organization), *named)
        parts.append(
            f"SELECT ? AS place, r.id AS id{columns} FROM {table.name} AS r WHERE {condition}"  # noqa: S608
        )
    for start in range(0, len(wheres), _SELECTIONS) if not parts else ():
        part, named = _merged_keys(of, wheres[start : start + _SELECTIONS], order, needed)
        values += (*named, needed)
        parts.append(f"SELECT * FROM ({part} LIMIT ?)")  # noqa: S608
    return (
        f"{' UNION ALL '.join(parts)} ORDER BY {order_by(table, order).replace('r.', '')}",
        values,
    )


def each(
    connection: apsw.Connection,
    of: type[R],
    where: Filter,
    order: Sequence[str],
    limit: int | None = None,
    offset: int = 0,
) -> Iterator[R]:
    """Yield the selected records one at a time, in order."""
    table = table_of(of)
    end = f" ORDER BY {order_by(table, order)} LIMIT ? OFFSET ?"
    span = (-1 if limit is None else limit, offset)
    for row in _select(connection, of, where, table.fields, end, span):
        yield table.record_of(of, where.organization, row)


def values(
    connection: apsw.Connection, of: type[Record], where: Filter, fields: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Return some fields of the selected records. Raises AttributeError if there is none of a name."""
    projection = table_of(of).projection(fields)
    return [projection.values_of(row) for row in _select(connection, of, where, projection.columns)]


def ids(
    connection: apsw.Connection,
    of: type[Record],
    where: Filter,
    order: Sequence[str],
    limit: int | None = None,
) -> list[str]:
    """Return the ids of the selected records, in order, at most `limit`."""
    end = f" ORDER BY {order_by(table_of(of), order)}"
    if limit is not None:
        end += f" LIMIT {limit:d}"
    return [value_text(id) for (id,) in _select(connection, of, where, "r.id", end)]


def count(connection: apsw.Connection, of: type[Record], where: Filter) -> int:
    """Count the selected records."""
    counted: int = _select(connection, of, where, "count(*)").get
    return counted


def groups(
    connection: apsw.Connection, of: type[Record], where: Filter, by: Sequence[str], span: str
) -> list[Group]:
    """Put together the selected records that agree in some text fields, latest first."""
    columns = ", ".join(f"r.{name}" for name in by)
    rows: Iterable[tuple[Any, ...]] = _select(
        connection,
        of,
        where,
        f"count(*), min(r.{span}), max(r.{span}) AS latest, {columns}",
        f" GROUP BY {columns} ORDER BY latest DESC, {columns}",
    )
    return [
        Group(
            tuple(None if value is None else value_text(value) for value in agreed),
            counted,
            instant(first),
            instant(last),
        )
        for counted, first, last, *agreed in rows
    ]


def delete(connection: apsw.Connection, of: type[Record], organization: str, id: str) -> bool:
    """Remove a record and all that goes with it; tell whether it was there."""
    table = table_of(of)
    number = change_feed.number_of(connection, organization)
    condition, values = _key(of, organization, id)
    row = connection.execute(
        f"DELETE FROM {table.name} AS r WHERE {condition} RETURNING "  # noqa: S608
        + ("row" if table.has_text else "1"),
        values,
    ).get
    if row is None or number is None:
        return False
    if issubclass(of, TextRecord):
        texts.remove(connection, number, of, row)
        embeddings.remove(connection, of, row)
    if of is Entity:
        entity_names.forget(connection, number, id)
    for part, field in GOES_WITH.get(of, ()):
        _remove_where(connection, part, organization, field, id)
    change_feed.note_deletion(connection, organization, of.kind, id)
    return True


def beside(
    connection: apsw.Connection,
    of: type[TextRecord],
    organization: str,
    ids: Collection[str],
    reach: int,
) -> dict[str, list[str]]:
    """Return, by id, the ids that stand beside it, nearest first."""
    number = change_feed.number_of(connection, organization)
    columns = beside_columns(table_of(of).name, "?1", reach)
    rows = connection.execute(
        f"WITH given (id) AS MATERIALIZED ({LISTED.format('?2')}) SELECT id, {columns} FROM given",  # noqa: S608
        (number, text_list(sorted(set(ids)))),
    )
    return ids_beside([None if id is None else value_text(id) for id in row] for row in rows)


def edges(
    connection: apsw.Connection, organization: str, nodes: Collection[str], limit: int | None
) -> list[Edge]:
    """Return the edges that touch any of the nodes: all by id, or the heaviest, heaviest first."""
    table = table_of(Link)
    found = [
        table.record_of(edge_class(kind, damaged), organization, row)
        for kind, *row in _touching(connection, organization, nodes, limit, table.fields)
    ]
    if limit is None:
        return sorted(found, key=lambda e: (e.id, e.kind))
    return sorted(found, key=lambda e: (-e.weight, e.id, e.kind))


def ties(
    connection: apsw.Connection, organization: str, nodes: Collection[str], limit: int
) -> list[Tie]:
    """Return the heaviest edges that touch any of the nodes, heaviest first."""
    rows = _touching(connection, organization, nodes, limit, TIE_FIELDS)
    return [
        Tie(
            EDGE_CLASSES.get(kind) or edge_class(kind, damaged),
            value_text(id),
            value_text(source),
            value_text(target),
            value_text(type),
            weight,
        )
        for kind, id, source, target, type, weight in rows
    ]


def _touching(
    connection: apsw.Connection,
    organization: str,
    nodes: Collection[str],
    limit: int | None,
    columns: str,
) -> Iterable[tuple[Any, ...]]:
    """Return the kind and some columns of the edges that touch any of the nodes.

    Each part reads an index that covers a `Tie`: with OR, SQLite would search every row by its key.
    """
    number = change_feed.number_of(connection, organization)
    order = "r.id, r.kind" if limit is None else "r.weight DESC, r.id, r.kind"
    asked = f"SELECT r.kind, {columns} FROM edges AS r WHERE r.organization = ?1"  # noqa: S608
    return connection.execute(
        f"WITH nodes AS MATERIALIZED ({LISTED.format('?3')}) "
        f"{asked} AND r.source IN nodes UNION ALL "
        f"{asked} AND r.target IN nodes AND r.source NOT IN nodes ORDER BY {order} LIMIT ?2",
        (number, -1 if limit is None else limit, text_list(sorted(set(nodes)))),
    )


def _select(
    connection: apsw.Connection,
    of: type[Record],
    where: Filter,
    columns: str,
    end: str = "",
    further: Sequence[Value] = (),
) -> apsw.Cursor:
    """Query columns of the selected records; `end` follows the condition, `further` are its values."""
    condition, values = selection(of, where)
    return connection.execute(
        f"SELECT {columns} FROM {table_of(of).name} AS r WHERE {condition}{end}",  # noqa: S608
        (*values, *further),
    )


def _put_with_text(
    connection: apsw.Connection, number: int, sequence: int, record: TextRecord
) -> None:
    """Insert or update by row; only a text that changed touches its index and vectors."""
    of, table = type(record), table_of(type(record))
    condition, values = _key(of, record.organization, record.id)
    earlier = connection.execute(
        f"SELECT r.row, {table.fields} FROM {table.name} AS r WHERE {condition}",  # noqa: S608
        values,
    ).get
    if earlier is None:
        values = [number, sequence, *table.values(record)]
        connection.execute(_insertion("INSERT", table), values)
        change_feed.forget_deletion(connection, number, record.kind, record.id)
        texts.add(connection, number, of, connection.last_insert_rowid(), record.text)
        return
    row, *fields = earlier
    assignments = ", ".join(f"{name} = ?" for name in table.stored)
    connection.execute(
        f"UPDATE {table.name} SET sequence = ?, {assignments} WHERE row = ?",  # noqa: S608
        (sequence, *table.values(record), row),
    )
    if table.record_of(of, record.organization, fields).text != record.text:
        texts.remove(connection, number, of, row)
        texts.add(connection, number, of, row, record.text)
        embeddings.remove(connection, of, row)
        connection.execute(
            f"UPDATE {table.name} SET space = NULL, states = NULL WHERE row = ?",  # noqa: S608
            (row,),
        )


def _insertion(verb: str, table: Table) -> str:
    marks = ", ".join("?" * len(table.stored))
    columns = f"organization, sequence, {', '.join(table.stored)}"
    return f"{verb} INTO {table.name}({columns}) VALUES (?, ?, {marks})"


def _key(of: type[Record], organization: str, id: str) -> tuple[str, list[Value]]:
    condition = "r.organization = (SELECT number FROM organizations WHERE name = ?) AND r.id = ?"
    values = [text_value(organization), text_value(id)]
    if "kind" in table_of(of).stored:
        condition += " AND r.kind = ?"
        values.append(of.kind)
    return condition, values


def _remove_where(
    connection: apsw.Connection, of: type[Record], organization: str, field: str, value: str
) -> None:
    condition, values = selection(of, Filter(organization=organization, equal={field: value}))
    removed = connection.execute(
        f"DELETE FROM {table_of(of).name} AS r WHERE {condition} RETURNING id",  # noqa: S608
        values,
    ).fetchall()
    for (id,) in removed:
        change_feed.note_deletion(connection, organization, of.kind, value_text(id))
