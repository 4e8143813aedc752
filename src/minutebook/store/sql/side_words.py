"""Finds, replaces and removes words of records in the tables of features.

`side_tables` declares the columns with such words, so nothing here names a table.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.side_tables import SideTable, all_tables
from minutebook.store.sql.tables import value_text


@dataclass(frozen=True, slots=True)
class SideRow:
    """A row of a feature's table: its key, and its texts by column, `names` of records and `words` of theirs."""

    organization: str
    table: SideTable
    names: Mapping[str, str]
    words: Mapping[str, str]
    key: tuple[Any, ...]

    def names_any(self, ids: Collection[str]) -> bool:
        """Tell whether the row is about a record with one of the ids."""
        return any(id in name for name in self.names.values() for id in ids)

    @property
    def encoded_words(self) -> bytes:
        """Its words in UTF-8."""
        return "\n".join(self.words.values()).encode("utf-8", "surrogatepass")


class SideWords:
    """All rows with words of records; inside a transaction of the store, writes are part of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, organization: str) -> Iterator[SideRow]:
        """Yield the rows of an organization that hold words."""
        number = self._database.number_of(organization)
        for table in all_tables():
            if table.words:
                with self._database.reading() as connection:
                    found = connection.rows(
                        f"SELECT {', '.join(table.types)} FROM {table.name}"  # noqa: S608
                        f" WHERE {table.leading} = ?",
                        (number,),
                    )
                yield from (row for each in found if (row := _row(organization, table, each)).words)

    def remove(self, organization: str, is_meant: Callable[[SideRow], bool]) -> int:
        """Remove the words of the rows that `is_meant` accepts, and rows that are not kept without words; return their number."""
        meant = [row for row in self.rows(organization) if is_meant(row)]
        if meant:
            with self._database.writing(organization) as (connection, _):
                for row in meant:
                    _remove(connection, row)
        return len(meant)

    def remove_images(self, organization: str) -> None:
        """Remove all rows with records as they were before."""
        self.remove(organization, lambda row: row.table.has_images)

    def forget(self, organization: str, ids: Collection[str]) -> None:
        """Remove the words of rows that name a record with one of the ids, or hold such an id in their words."""
        encoded = [id.encode("utf-8", "surrogatepass") for id in ids]
        self.remove(
            organization,
            lambda row: row.names_any(ids) or any(id in row.encoded_words for id in encoded),
        )

    def rewrite(self, row: SideRow, words: Mapping[str, str]) -> None:
        """Replace the words in some columns of a row."""
        with self._database.writing(row.organization) as (connection, _):
            for column, text in words.items():
                connection.run(
                    f"UPDATE {row.table.name} SET {column} = ? WHERE {_condition(row.table)}",  # noqa: S608
                    (text, *row.key),
                )


def _row(organization: str, table: SideTable, values: Collection[Any]) -> SideRow:
    known = dict(zip(table.types, values, strict=True))
    words = {name: value_text(known[name]) for name in table.words if known[name]}
    names = {
        name: value_text(known[name])
        for name, type in table.types.items()
        if type.startswith("name") and known[name] is not None
    }
    return SideRow(
        organization, table, names, words, tuple(known[each] for each in table.key.split(", "))
    )


def _remove(connection: Connection, row: SideRow) -> None:
    table, where = row.table, _condition(row.table)
    if not table.is_kept_without_words:
        connection.run(f"DELETE FROM {table.name} WHERE {where}", row.key)  # noqa: S608
        return
    for column in row.words:
        empty = "NULL" if table.types[column].endswith("?") else "''"
        connection.run(f"UPDATE {table.name} SET {column} = {empty} WHERE {where}", row.key)  # noqa: S608


def _condition(table: SideTable) -> str:
    return " AND ".join(f"{each} = ?" for each in table.key.split(", "))


def document_of(text: str) -> Any:
    """Return the JSON object or list that a text holds, or the text itself."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict | list) else text
