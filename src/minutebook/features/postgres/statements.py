"""The shared SQL on PostgreSQL: parameters, and the expressions and writes that differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus

from minutebook.features.postgres import numbers
from minutebook.features.postgres.tables import CUT, derived, object_digest, quoted
from minutebook.record.filters import folded
from minutebook.record.records import CLASSES, Kind, Record, TextRecord
from minutebook.store.sql import change_feed
from minutebook.store.sql.database import Condition, Connection, KeptVectors, Row
from minutebook.store.sql.embeddings import encoded
from minutebook.store.sql.entity_names import SHORT
from minutebook.store.sql.rows import check_key
from minutebook.store.sql.tables import Table, table_of
from minutebook.store.values import Carried, VectorSpace
from minutebook.text.words import ANALYSIS

Raw: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_FETCHED = 500
"""Rows that a server-side cursor sends at once."""

_REPLAN_AFTER = 512
"""Changes of a transaction after which its statements are planned anew, and again each time that number has doubled:
a plan made while a table was empty may read all of it."""

_EMBEDDING = ("space", "vectors", "states", "token_states")


class PostgresConnection(Connection):
    """A connection to a server."""

    # A text sorts by code point.
    types: ClassVar[Mapping[str, str]] = {
        "name": 'text COLLATE "C"',
        "words": 'text COLLATE "C"',
        "images": 'text COLLATE "C"',
        "integer": "integer",
        "instant": "bigint",
        "real": "double precision",
    }
    feeds = ("feeds", "organization")
    vectors = ("r.vectors", "")
    states = ("r.token_states", "")
    states_of = ("r.space", "r.states")
    states_bytes = ("octet_length(token_states)", "{0}")
    records_by_space = (
        "{0} AS r JOIN organizations AS o ON o.number = r.organization",
        "r.organization",
        "r.space DESC, r.states DESC, r.organization DESC, r.id DESC",
    )
    kept_terms = f"r.analysis = {ANALYSIS}"
    contradictions: ClassVar[Mapping[str, str]] = {
        "{0} {1} say that they have vectors, or token states, and have none, or the other way round": (
            "SELECT count(*) FROM {0} AS r WHERE ((r.space IS NULL) <> (r.vectors IS NULL)"
            " OR (r.states IS NULL) <> (r.token_states IS NULL))"
        )
    }

    __slots__ = ("changes", "latest", "raw")

    def __init__(self, raw: Raw, latest: dict[int, int] | None = None) -> None:
        """Take over a connection; `latest` has the sequences of the organizations that its transaction has locked.

        Sequences that it draws are counted there and written once at the end: updating a row for each record is slow.
        """
        self.raw, self.latest, self.changes = raw, latest or {}, 0

    def sequence(self, number: int | None) -> int:
        """Return the sequence of the latest change, 0 when there is none."""
        return self.latest.get(number or 0) or super().sequence(number)

    def draw_sequences(self, number: int, count: int = 1) -> int:
        """Draw the sequences of changes that follow one another; return the first."""
        # The very first sequence of an organization is written at once: it makes the organization visible.
        last = self.latest.get(number)
        first = last + 1 if last else super().draw_sequences(number, count)
        if last is not None:
            self.latest[number] = first + count - 1
        before, self.changes = self.changes // _REPLAN_AFTER, self.changes + count
        if (self.changes // _REPLAN_AFTER).bit_length() > before.bit_length():
            self.raw.execute("DISCARD PLANS")
        return first

    def rows(
        self, statement: str, values: Sequence[Any] = (), *, binary: bool = False
    ) -> list[Row]:
        """Run a statement and return its rows."""
        cursor = self.raw.execute(_with_placeholders(statement), values or None, binary=binary)
        # Not by `cursor.description`, which makes an object for each column.
        return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a statement and yield its rows, with few in memory if the connection is inside a transaction."""
        if self.raw.info.transaction_status == TransactionStatus.IDLE:
            yield from self.rows(statement, values)
            return
        with self.raw.cursor(name="stream") as cursor:
            cursor.itersize = _FETCHED
            cursor.execute(_with_placeholders(statement), values or None)
            yield from cursor

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of some rows of values, in one stream."""
        with self.raw.cursor() as cursor:
            cursor.executemany(_with_placeholders(statement), list(rows))

    def among(self, column: str, values: Collection[Any]) -> Condition:
        """Return the condition that a column has one of some values."""
        return f"{column} = ANY(?)", (list(values),)

    def equals(self, name: str, value: Any) -> Condition:
        """Return the condition that a column has a value; the index of a column in CUT has only the first characters."""
        if name in CUT:
            short = f"left(r.{name}, {SHORT}) = left(?::text, {SHORT})"
            return f"{short} AND r.{name} = ?", (value, value)
        return super().equals(name, value)

    def has_object(self, name: str, value: Mapping[str, Any]) -> Condition:
        """Return the condition that a column holds a JSON object, in any order of its keys."""
        return f"r.{name}_digest = ?", (object_digest(value),)

    def starts(self, name: str, start: str) -> Condition:
        """Return the condition that a text begins with `start`, ignoring the case of A to Z."""
        start_folded = 'lower(?::text COLLATE "C")'
        return f"lower(substr(r.{name}, 1, length(?::text))) = {start_folded}", (start, start)

    def has_client(self, client: str) -> Condition:
        """Return the condition that a program wrote a record."""
        return "r.client = ?", (folded(client),)

    def listed(self, texts: Sequence[str]) -> Condition:
        """Return a query for texts as rows with one column, `id`."""
        return 'SELECT id COLLATE "C" AS id FROM unnest(?::text[]) AS given (id)', (list(texts),)

    def first_of(self, selects: Sequence[str], order: str, limit: int, offset: int = 0) -> str:
        """Return a query for the first rows of several selections together.

        Each selection is limited by itself, so that it uses the index of its table: else PostgreSQL would sort all
        remaining rows for each page.
        """
        ordered = f" ORDER BY {order}"
        parts = (f"({each}{ordered} LIMIT {limit + offset})" for each in selects)
        return f"{' UNION ALL '.join(parts)}{ordered} LIMIT {limit} OFFSET {offset}"

    def edges_at(self, columns: str, number: int | None, nodes: Sequence[str]) -> Condition:
        """Return a query for some columns of the edges that touch any of the nodes."""
        return (
            f"SELECT {columns} FROM edges AS r WHERE r.organization = ?"  # noqa: S608
            " AND (r.source = ANY(?) OR r.target = ANY(?))",
            (number, list(nodes), list(nodes)),
        )

    def put(self, number: int, record: Record) -> None:
        """Insert a record, or replace the one with its key."""
        self.raw.execute(
            _insertion(record.kind),
            (number, record.kind, record.id, number, self.draw_sequences(number), *_values(record)),
        )

    def put_carried(
        self, number: int, carried: Sequence[Carried], spaces: Mapping[VectorSpace, int]
    ) -> None:
        """Insert or replace records of another store in one stream, with their vectors and token states."""
        by_kind: dict[Kind, list[tuple[Any, ...]]] = {}
        first = self.draw_sequences(number, len(carried))
        for sequence, each in enumerate(carried, first):
            check_key(each.record)
            values = (number, sequence, *_values(each.record))
            if isinstance(each.record, TextRecord):
                values += encoded(each.embedding, spaces) if each.embedding else (None,) * 4
            by_kind.setdefault(each.record.kind, []).append(values)
        for kind, rows in by_kind.items():
            ids = [each.record.id for each in carried if each.record.kind is kind]
            change_feed.forget_deletions(self, number, kind, ids)
            with self.raw.cursor() as cursor:
                cursor.executemany(_carried_insertion(kind), rows)

    def put_embedding(self, number: int, of: type[TextRecord], id: str, kept: KeptVectors) -> bool:
        """Write vectors and token states in the row of their record."""
        name = table_of(of).name
        changed = self.raw.execute(
            f"UPDATE {name} SET space = %s, vectors = %s, states = %s, token_states = %s, sequence = %s"  # noqa: S608
            " WHERE organization = %s AND id = %s",
            (*kept, self.draw_sequences(number), number, id),
        )
        return bool(changed.rowcount)

    def clear_embedding(
        self, of: type[TextRecord], number: int, id: str, sequence: int, *, vectors: bool
    ) -> None:
        """Remove the token states of a record, and its vectors, unless it has changed."""
        cleared = _EMBEDDING if vectors else _EMBEDDING[2:]
        self.run(
            f"UPDATE {table_of(of).name} SET {', '.join(f'{each} = NULL' for each in cleared)}"  # noqa: S608
            " WHERE organization = ? AND id = ? AND sequence = ?",
            (number, id, sequence),
        )

    def remove(self, number: int, of: type[Record], chosen: Condition) -> list[str]:
        """Delete the chosen records of a class; return their ids."""
        condition, values = chosen
        removed = self.rows(
            f"DELETE FROM {table_of(of).name} AS r WHERE {condition} RETURNING r.id",  # noqa: S608
            values,
        )
        return [id for (id,) in removed]

    def put_names(self, number: int, entity: str, names: Sequence[tuple[str, str]]) -> None:
        """Replace the names under which an entity is listed."""
        self.run(
            "WITH further AS (DELETE FROM names WHERE organization = ? AND entity = ? AND place > ?)"
            " INSERT INTO names (organization, entity, place, first, words)"
            " SELECT ?, ?, name.place, name.first, name.words"
            " FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS name (first, words, place)"
            " ON CONFLICT (organization, entity, place)"
            " DO UPDATE SET first = EXCLUDED.first, words = EXCLUDED.words",
            (
                *(number, entity, len(names), number, entity),
                *([first for first, _ in names], [words for _, words in names]),
            ),
        )

    def put_space(self, space: tuple[str, str, int]) -> None:
        """Register a vector space (name, digest, dimensions) with a number, unless it has one."""
        numbers.register_space(self.raw, space)


@lru_cache(maxsize=1024)
def _with_placeholders(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


def _values(record: Record) -> list[Any]:
    """Return the values of a record's columns, derived ones included."""
    table = table_of(type(record))
    return [*table.values(record), *(make(record) for make in derived(table).values())]


@cache
def _insertion(kind: Kind) -> str:
    """Return the statement that stores a record with its sequence, and removes its mark of deletion."""
    table = table_of(CLASSES[kind])
    columns, further = _columns(table), list[str]()
    if table.has_text:
        kept = "CASE WHEN r.text_digest = EXCLUDED.text_digest THEN r.{0} END"
        further = [f"{name} = {kept.format(name)}" for name in _EMBEDDING]
    return (
        "WITH back AS (DELETE FROM deletions WHERE organization = %s AND kind = %s AND id = %s)"  # noqa: S608
        f"{_upsert(table, 'VALUES (%s, %s, {})', columns, further)}"
    )


@cache
def _carried_insertion(kind: Kind) -> str:
    """Return the statement that stores a record with its sequence and its embedding."""
    table = table_of(CLASSES[kind])
    beside = _EMBEDDING if table.has_text else ()
    return _upsert(table, "VALUES (%s, %s, {})", [*_columns(table), *beside], [])


def _columns(table: Table) -> list[str]:
    return [*table.stored, *derived(table)]


def _upsert(table: Table, source: str, columns: Sequence[str], further: Sequence[str]) -> str:
    """Return the statement that inserts columns, or updates them, with `further` assignments, if the record is there.

    `source` has `{}` for the columns' values, after organization and sequence.
    """
    key = ("organization", "kind", "id") if "kind" in table.stored else ("organization", "id")
    assigned = [f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in columns if name not in key]
    return (
        f" INSERT INTO {table.name} AS r (organization, sequence, {', '.join(map(quoted, columns))})"
        f" {source.format(', '.join(['%s'] * len(columns)))}"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET sequence = EXCLUDED.sequence,"
        f" {', '.join([*assigned, *further])}"
    )
