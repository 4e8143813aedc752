"""Every key and every statement leads with the organization, so that a server can keep each apart."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from minutebook.domain.filters import Filter
from minutebook.domain.records import (
    CLASSES,
    TEXT_CLASSES,
    Entity,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Turn,
)
from minutebook.search.text import parse_query
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.tables import ALL_TABLES
from tests.store import samples
from tests.store.small_index import small_index
from tests.store.sqlite_engine import SqliteEngine

ACME = Filter(organization="acme")
SPACE = replace(samples.SPACES[0], states="one")
EAST = samples.unit(1, 0, 0, 0)

OF_RECORDS = {table.name for table in ALL_TABLES} | {"deletions", "names"}
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)")
_BY_ITSELF = re.compile(
    r"WHERE row = \?|^INSERT INTO \w+ VALUES|^INSERT OR IGNORE INTO names VALUES"
)
"""A row's number was looked up by organization and id just before; a whole row has its organization."""


def one_of_each() -> list[Record]:
    return [
        samples.memory(),
        samples.version(),
        samples.entity(),
        *(samples.edge(of, "a", "b") for of in (Relation, Link, Mention)),
        samples.entry(),
        samples.head(),
        samples.project(),
        samples.file(),
        samples.chunk(),
        samples.decision(),
        samples.proposal(),
        samples.mark(),
        samples.token(),
        samples.turn(),
        samples.summary(),
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    engine = SqliteEngine("normal")
    engine.make(tmp_path)
    with small_index():
        store = engine.open(tmp_path)
        yield store
        store.close()


def test_every_unique_key_and_index_leads_with_the_organization(store: SqliteStore) -> None:
    connection = store._connections._writer
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

    opening = store._connections.open
    monkeypatch.setattr(store._connections, "open", lambda: watched(opening()))
    watched(store._connections._writer)
    assert {type(record) for record in one_of_each()} == set(CLASSES.values())
    write_everything(store)
    ask_everything(store)
    of_records = [sql for sql in said if OF_RECORDS & set(_NAMED.findall(sql))]
    assert set().union(*(_NAMED.findall(sql) for sql in of_records)) >= OF_RECORDS
    assert [
        sql for sql in of_records if not ("organization" in sql or _BY_ITSELF.search(sql))
    ] == []


def write_everything(store: SqliteStore) -> None:
    for record in one_of_each():
        store.put(record)
        store.put(record)
    for of in TEXT_CLASSES.values():
        store.put_vectors(of, "acme", "a", SPACE, EAST[None], b"states")
        store.put_vectors(of, "acme", "a", SPACE, EAST[None])
    with store.transaction("acme", "zoo"):
        for record in one_of_each():
            store.put(replace(record, organization="zoo"))
        for record in one_of_each():
            store.delete(type(record), "zoo", record.id)


def ask_everything(store: SqliteStore) -> None:
    for of in CLASSES.values():
        store.get(of, "acme", "a")
        store.find(of, ACME, limit=3)
        list(store.each(of, ACME, ()))
        store.ids(of, ACME, ())
        store.count(of, ACME)
        store.page(of, [ACME, Filter(organization="zoo")], order=["id"], limit=3)
        with store.snapshot("acme") as moment:
            moment.count(of, ACME)
            list(moment.each(of, ACME))
    for text_class in TEXT_CLASSES.values():
        store.match(text_class, ACME, parse_query("bread"), 3)
        store.match(text_class, ACME, parse_query('"bread"'), 3)
        store.matches_phrase(text_class, ACME, ["bread"])
        store.vectors(text_class, "acme", "a")
        store.token_states(text_class, "acme", ["a"], SPACE)
        store.states_size(text_class, "acme")
        store.count_vectors(text_class, ACME, SPACE)
        store.nearest(text_class, ACME, SPACE, EAST, 3)
    store.without_vectors([*TEXT_CLASSES.values()], SPACE, 3)
    store.without_vectors([Memory], SPACE, 3, ["acme"])
    store.groups(Turn, ACME, ["session"], "at")
    store.edges("acme", ["a"])
    store.edges("acme", ["a"], 3)
    store.entities_named(ACME, ["ana"])
    store.find(Entity, replace(ACME, ids=frozenset({"a"})))
    store.changes("acme", 0)
    store.sequence("acme")
    store.organizations()
    store.organizations(["acme"])
