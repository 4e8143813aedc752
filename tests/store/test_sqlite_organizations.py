"""Every key and every statement leads with the organization, so that a server can keep each apart."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from minutebook.record.records import CLASSES
from minutebook.store.sql.tables import ALL_TABLES
from minutebook.store.sqlite import SqliteStore
from tests.store.everything import ask_everything, one_of_each, write_everything
from tests.store.small_index import small_index
from tests.store.sqlite_engine import SqliteEngine

OF_RECORDS = {table.name for table in ALL_TABLES} | {"deletions", "names"}
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)")
_BY_ITSELF = re.compile(
    r"WHERE row = \?|^INSERT INTO \w+ VALUES|^INSERT OR IGNORE INTO names VALUES"
)
"""A row's number was looked up by organization and id just before; a whole row has its organization."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    engine = SqliteEngine("normal")
    engine.make(tmp_path)
    with small_index():
        store = engine.open(tmp_path)
        yield store
        store.close()


def test_every_unique_key_and_index_leads_with_the_organization(store: SqliteStore) -> None:
    connection = store.database._writer.raw
    looked_at = set()
    for table in sorted(OF_RECORDS):
        for _, index, *_ in connection.execute(f"PRAGMA index_list({table})").fetchall():
            columns = connection.execute(f"PRAGMA index_info({index})").fetchall()
            assert columns[0][2] == "organization", index
            looked_at.add(table)
    assert looked_at == OF_RECORDS


def test_every_statement_names_the_organization(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def note(_: object, sql: str, __: Any) -> bool:
        said.append(sql)
        return True

    def watched(connection: apsw.Connection) -> apsw.Connection:
        connection.exec_trace = note
        return connection

    opening = store.database._new_connection
    monkeypatch.setattr(store.database, "_new_connection", lambda: watched(opening()))
    watched(store.database._writer.raw)
    assert {type(record) for record in one_of_each()} == set(CLASSES.values())
    write_everything(store)
    ask_everything(store)
    of_records = [sql for sql in said if OF_RECORDS & set(_NAMED.findall(sql))]
    assert set().union(*(_NAMED.findall(sql) for sql in of_records)) >= OF_RECORDS
    assert [
        sql for sql in of_records if not ("organization" in sql or _BY_ITSELF.search(sql))
    ] == []
