"""The part of the SQL that SQLite writes differently: expressions, writes, and the form of stored texts."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import apsw

from minutebook.record.records import Record, TextRecord
from minutebook.store.sql import rows
from minutebook.store.sql.database import Condition, Connection, KeptVectors, Row
from minutebook.store.sql.embeddings import encoded
from minutebook.store.sql.tables import Table, Value, table_of, value_text
from minutebook.store.sqlite import texts
from minutebook.store.values import Carried, VectorSpace

_MANY = 512
"""The most values of a list that are parameters each; more are one parameter, a JSON list."""

_FEW_ROWS = 8
"""The most rows of a cached answer."""

_LISTED = (
    "SELECT CASE type WHEN 'array' THEN unhex(value ->> 0) ELSE value END AS id FROM json_each(?)"
)
"""Selects the texts of a `_text_list`: for hundreds of texts this is quicker than as many parameters."""

_DRAW = "UPDATE organizations SET sequence = sequence + 1 WHERE number = ? RETURNING sequence"
_FORGET = "DELETE FROM deletions WHERE organization = ? AND kind = ? AND id = ?"

# Two objects are equal whatever the order of their keys, so their nodes are compared, not their texts.
_SAME_OBJECT = (
    "NOT EXISTS (SELECT fullkey, type, atom FROM json_tree(r.{name}) "
    "EXCEPT SELECT fullkey, type, atom FROM json_tree(?)) AND "
    "NOT EXISTS (SELECT fullkey, type, atom FROM json_tree(?) "
    "EXCEPT SELECT fullkey, type, atom FROM json_tree(r.{name}))"
)


class SqliteConnection(Connection):
    """A connection to a file; a text with lone surrogates, which UTF-8 cannot hold, is stored as bytes."""

    # A column without a type holds a text, or the bytes of one with lone surrogates.
    types: ClassVar[Mapping[str, str]] = {
        "name": "",
        "words": "",
        "images": "",
        "integer": "INTEGER",
        "instant": "INTEGER",
        "real": "REAL",
    }
    table_end = " WITHOUT ROWID"
    feeds = ("organizations", "number")
    vectors = ("v.vectors", "JOIN {0}_vectors AS v ON v.row = r.row")
    states = ("t.states", "LEFT JOIN {0}_states AS t ON t.row = r.row")
    states_of = ("t.space", "t.form")
    states_bytes = ("length(states)", "{0}_states")
    records_by_space = (
        "organizations AS o CROSS JOIN {0} AS r INDEXED BY {0}_by_space ON r.organization = o.number",
        "o.number",
        "o.number DESC, r.space DESC, r.states DESC, r.id DESC",
    )
    contradictions: ClassVar[Mapping[str, str]] = {
        "{0} token states of {1} belong to no record with vectors": (
            "SELECT count(*) FROM {0}_states WHERE row NOT IN"
            " (SELECT row FROM {0} WHERE space IS NOT NULL)"
        ),
        "{0} {1} have other token states than they say": (
            "SELECT count(*) FROM {0} AS r LEFT JOIN {0}_states AS s ON s.row = r.row WHERE (s.space, s.form)"
            " IS NOT (CASE WHEN r.states IS NULL THEN NULL ELSE r.space END, r.states)"
        ),
        "{0} vectors of {1} belong to no record": (
            "SELECT count(*) FROM {0}_vectors WHERE row NOT IN (SELECT row FROM {0})"
        ),
        "{0} {1} say that they have vectors, and have none": (
            "SELECT count(*) FROM {0}"
            " WHERE space IS NOT NULL AND row NOT IN (SELECT row FROM {0}_vectors)"
        ),
    }

    __slots__ = ("known", "raw")

    def __init__(self, raw: apsw.Connection) -> None:
        """Wrap a connection; `known` caches short answers while all reads see one moment, else it is None."""
        self.raw = raw
        self.known: dict[tuple[str, tuple[Any, ...]], list[Row]] | None = None

    def rows(
        self, statement: str, values: Sequence[Any] = (), *, binary: bool = False
    ) -> list[Row]:
        """Run a statement and return its rows."""
        found = None if self.known is None else self.known.get((statement, tuple(values)))
        return self._read(statement, values) if found is None else found[:]

    def _read(self, statement: str, values: Sequence[Any]) -> list[Row]:
        found: list[Row] = self.raw.execute(statement, _kept(values)).fetchall()
        if self.known is not None and len(found) <= _FEW_ROWS:
            self.known[statement, tuple(values)] = found[:]
        return found

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Run a statement and yield its rows, with few of them in memory."""
        return self.raw.execute(statement, _kept(values))

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each of the rows of values."""
        self.raw.executemany(statement, map(_kept, rows))

    def among(self, column: str, values: Collection[Any]) -> Condition:
        """Return the condition that a column has one of some values.

        The number of parameters is a power of two, the last value being repeated, so that few different
        statements have to be prepared.
        """
        if len(values) > _MANY:
            return f"{column} IN ({_LISTED})", (_text_list(values),)
        listed = list(values) or [None]
        size = 1 << (len(listed) - 1).bit_length()
        listed += listed[-1:] * (size - len(listed))
        return f"{column} IN ({', '.join('?' * size)})", listed

    def has_object(self, name: str, value: Mapping[str, Any]) -> Condition:
        """Return the condition that a column holds a JSON object, whatever the order of its keys."""
        text = json.dumps(value, separators=(",", ":"))
        return _SAME_OBJECT.format(name=name), (text, text)

    def starts(self, name: str, start: str) -> Condition:
        """Return the condition that a text begins with `start`, ASCII case ignored."""
        # Cast, so that a text that is stored as bytes is counted in characters too.
        text = "CAST({} AS TEXT)".format
        return (
            f"lower(substr({text(f'r.{name}')}, 1, ?)) = lower({text('?')})",
            (len(start), start),
        )

    def has_client(self, client: str) -> Condition:
        """Return the condition that this program wrote a record first, ASCII case ignored."""
        return "lower(r.origin ->> 'client') = lower(CAST(? AS TEXT))", (client,)

    def listed(self, texts: Sequence[str]) -> Condition:
        """Return a query for the texts as rows of one column, `id`."""
        return _LISTED, (_text_list(texts),)

    def first_of(self, selects: Sequence[str], order: str, limit: int, offset: int = 0) -> str:
        """Return a query that merges several selections, each in the order of its index, and stops at the limit."""
        return f"{' UNION ALL '.join(selects)} ORDER BY {order} LIMIT {limit} OFFSET {offset}"

    def edges_at(self, columns: str, number: int | None, nodes: Sequence[str]) -> Condition:
        """Return a query for edges in two parts, each of which reads an index that covers a `Tie`: OR would read every row."""
        asked = f"SELECT {columns} FROM edges AS r WHERE r.organization = ?"  # noqa: S608
        return (
            f"WITH nodes AS MATERIALIZED ({_LISTED}) {asked} AND r.source IN nodes UNION ALL"
            f" {asked} AND r.target IN nodes AND r.source NOT IN nodes",
            (_text_list(nodes), number, number),
        )

    def put(self, number: int, record: Record) -> None:
        """Write a record; only a text that changed touches its index and vectors."""
        table = table_of(type(record))
        sequence = self.raw.execute(_DRAW, (number,)).get
        values = _kept((number, sequence, *table.values(record)))
        if not isinstance(record, TextRecord):
            self.raw.execute(_insertion("INSERT OR REPLACE", table), values)
            self.raw.execute(_FORGET, (number, record.kind, text_value(record.id)))
            return
        of = type(record)
        earlier = self.row(
            f"SELECT r.row, {table.fields} FROM {table.name} AS r"  # noqa: S608
            " WHERE r.organization = ? AND r.id = ?",
            (number, record.id),
        )
        if earlier is None:
            self.raw.execute(_insertion("INSERT", table), values)
            self.raw.execute(_FORGET, (number, record.kind, text_value(record.id)))
            texts.add(self, number, of, self.raw.last_insert_rowid(), record.text)
            return
        row, *fields = earlier
        assignments = ", ".join(f"{name} = ?" for name in table.stored)
        self.raw.execute(
            f"UPDATE {table.name} SET sequence = ?, {assignments} WHERE row = ?",  # noqa: S608
            (*values[1:], row),
        )
        if table.record_of(of, record.organization, fields).text != record.text:
            texts.remove(self, number, of, row)
            texts.add(self, number, of, row, record.text)
            self._clear(table.name, row)

    def put_carried(
        self, number: int, carried: Sequence[Carried], spaces: Mapping[VectorSpace, int]
    ) -> None:
        """Write records of another store with their embeddings."""
        for each in carried:
            rows.check_key(each.record)
            self.put(number, each.record)
            if isinstance(each.record, TextRecord):
                of, id, kept = type(each.record), each.record.id, each.embedding
                if kept is None:
                    self._clear_where(of, "organization = ? AND id = ?", (number, id))
                else:
                    self.put_embedding(number, of, id, encoded(kept, spaces))

    def put_embedding(self, number: int, of: type[TextRecord], id: str, kept: KeptVectors) -> bool:
        """Write vectors and token states into separate tables, because those of few records are read."""
        name = table_of(of).name
        found = self.row(
            f"SELECT row FROM {name} WHERE organization = ? AND id = ?",  # noqa: S608
            (number, id),
        )
        if found is None:
            return False
        (row,), (space, vectors, form, states) = found, kept
        sequence = self.draw_sequences(number)
        self.run(f"INSERT OR REPLACE INTO {name}_vectors VALUES (?, ?)", (row, vectors))  # noqa: S608
        if states is None:
            self.run(f"DELETE FROM {name}_states WHERE row = ?", (row,))  # noqa: S608
        else:
            self.run(
                f"INSERT OR REPLACE INTO {name}_states VALUES (?, ?, ?, ?, ?)",  # noqa: S608
                (row, number, space, form, states),
            )
        self.run(
            f"UPDATE {name} SET space = ?, states = ?, sequence = ? WHERE row = ?",  # noqa: S608
            (space, form, sequence, row),
        )
        return True

    def clear_embedding(
        self, of: type[TextRecord], number: int, id: str, sequence: int, *, vectors: bool
    ) -> None:
        """Remove the token states of a record, and with `vectors` its vectors, if it is still at this sequence."""
        chosen = "organization = ? AND id = ? AND sequence = ?", (number, id, sequence)
        self._clear_where(of, *chosen, vectors=vectors)

    def remove(self, number: int, of: type[Record], chosen: Condition) -> list[str]:
        """Delete the records of a class that meet a condition, with their derived rows; return their ids."""
        table, (condition, values) = table_of(of), chosen
        removed = self.rows(
            f"DELETE FROM {table.name} AS r WHERE {condition} RETURNING id, "  # noqa: S608
            + ("row" if table.has_text else "0"),
            values,
        )
        if issubclass(of, TextRecord):
            for _, row in removed:
                texts.remove(self, number, of, row)
                for part in ("vectors", "states"):
                    self.raw.execute(f"DELETE FROM {table.name}_{part} WHERE row = ?", (row,))  # noqa: S608
        return [value_text(id) for id, _ in removed]

    def put_names(self, number: int, entity: str, names: Sequence[tuple[str, str]]) -> None:
        """Replace the listed names of an entity."""
        self.run("DELETE FROM names WHERE organization = ? AND entity = ?", (number, entity))
        self.run_many(
            "INSERT INTO names VALUES (?, ?, ?, ?)",
            [(number, first, entity, words) for first, words in names],
        )

    def put_space(self, space: tuple[str, str, int]) -> None:
        """Write a vector space (name, digest, dimensions) with a new number, unless it is there."""
        self.run(
            "INSERT INTO spaces (name, digest, dimensions) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            space,
        )

    def _clear_where(
        self, of: type[TextRecord], condition: str, values: Sequence[Any], *, vectors: bool = True
    ) -> None:
        name = table_of(of).name
        for (row,) in self.rows(f"SELECT row FROM {name} WHERE {condition}", values):  # noqa: S608
            self._clear(name, row, vectors=vectors)

    def _clear(self, name: str, row: int, *, vectors: bool = True) -> None:
        """Remove the token states of a row, and with `vectors` its vectors."""
        for part in ("vectors", "states") if vectors else ("states",):
            self.raw.execute(f"DELETE FROM {name}_{part} WHERE row = ?", (row,))  # noqa: S608
        space = "space = NULL, " if vectors else ""
        self.raw.execute(f"UPDATE {name} SET {space}states = NULL WHERE row = ?", (row,))  # noqa: S608


def text_value(text: str) -> Value:
    """Return a text as SQLite stores it: as bytes if it has lone surrogates, which UTF-8 cannot hold."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _kept(values: Iterable[Any]) -> list[Any]:
    return [
        text_value(each) if type(each) is str and not each.isascii() else each for each in values
    ]


def _text_list(texts: Collection[Any]) -> str:
    """Return texts as a JSON list for `_LISTED`; bytes, which JSON does not have, are written as [hex]."""
    kept = _kept(texts)
    return json.dumps([[each.hex()] if isinstance(each, bytes) else each for each in kept])


def _insertion(verb: str, table: Table) -> str:
    marks = ", ".join("?" * len(table.stored))
    columns = f"organization, sequence, {', '.join(table.stored)}"
    return f"{verb} INTO {table.name}({columns}) VALUES (?, ?, {marks})"
