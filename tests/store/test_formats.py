"""A store of one format is brought to the next, whole or not at all; one of any other is refused in words.

There is one format so far, so the next is one that the tests make up. Whoever adds a real step keeps a store of
the format before beside this file, as the code of its time wrote it, and opens that here too.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.postgres import schema as postgres_schema
from minutebook.record.errors import StoreError, StoreTooNew
from minutebook.record.records import Memory, Record
from minutebook.store.protocol import Tended
from minutebook.store.sqlite import schema as sqlite_schema
from minutebook.text.words import parse_query
from tests.features.postgres.engine import PostgresEngine
from tests.store.engine import Engine
from tests.store.everything import one_of_each, write_everything
from tests.store.next_format import next_format
from tests.store.promises import ACME
from tests.store.samples import memory
from tests.store.sqlite_engine import SqliteEngine

SCHEMAS: dict[str, Any] = {"sqlite": sqlite_schema, "postgres": postgres_schema}


@pytest.fixture(params=[SqliteEngine, PostgresEngine], ids=lambda of: of.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param is PostgresEngine:
        request.getfixturevalue("postgres")
    made: Engine = request.param()
    return made


@pytest.fixture
def folder(engine: Engine, tmp_path: Path) -> Iterator[Path]:
    """A store that holds a record of each kind."""
    place = tmp_path / "store"
    engine.make(place)
    with closing(engine.open(place)) as store:
        write_everything(store)
    yield place
    engine.discard(place)


def held(store: Tended) -> list[Record]:
    return [record for each in one_of_each() for record in store.find(type(each), ACME)]


def colours(engine: Engine, folder: Path) -> list[tuple[Any, ...]]:
    return engine.execute(folder, "SELECT name FROM colours")


def test_the_next_format_has_all_that_was_kept(engine: Engine, folder: Path) -> None:
    with closing(engine.open(folder)) as store:
        before, sequence = held(store), store.sequence("acme")
    for _ in range(2):
        with next_format(), closing(engine.open(folder)) as store:
            assert held(store) == before
            assert store.sequence("acme") == sequence
            assert engine.faults(store) == []
        assert colours(engine, folder) == [("red",)]
    with next_format(), closing(engine.open(folder)) as store:
        store.put(memory("new", "rye"))
        (found,) = store.match(Memory, ACME, parse_query("rye"), 9)
        assert found.id == "new"


def test_of_several_that_open_a_store_one_brings_it_to_the_next_format(
    engine: Engine, folder: Path
) -> None:
    with next_format(), ThreadPoolExecutor(4) as pool:
        stores = [each.result() for each in [pool.submit(engine.open, folder) for _ in range(4)]]
        for store in stores:
            store.close()
    assert colours(engine, folder) == [("red",)]


def test_a_step_that_fails_leaves_the_store_as_it_was(engine: Engine, folder: Path) -> None:
    with closing(engine.open(folder)) as store:
        before = held(store)
    with next_format("INSERT INTO nowhere VALUES (1);"), pytest.raises(Exception, match="nowhere"):
        engine.open(folder)
    with closing(engine.open(folder)) as store:
        assert held(store) == before


def test_a_later_format_is_refused_with_both_numbers_and_left_as_it_is(
    engine: Engine, folder: Path
) -> None:
    with next_format():
        engine.open(folder).close()
    with pytest.raises(StoreTooNew) as refused:
        engine.open(folder)
    number = SCHEMAS[engine.name].FORMAT
    assert f"the store has format {number + 1}" in refused.value.reason
    assert f"reads up to {number}; upgrade Minutebook" in refused.value.reason
    with next_format(), closing(engine.open(folder)) as store:
        assert held(store)


def test_a_store_of_a_version_before_the_first_release_is_named_as_such(
    engine: Engine, folder: Path
) -> None:
    for statement in MARKED_BEFORE_RELEASE[engine.name]:
        engine.execute(folder, statement)
    with pytest.raises(StoreError, match=r"before the first release made this store.*export"):
        engine.open(folder)


MARKED_BEFORE_RELEASE = {
    "sqlite": ("PRAGMA application_id = 1296199535", "PRAGMA user_version = 12"),
    "postgres": ("ALTER TABLE format RENAME number TO version", "UPDATE format SET version = 10"),
}
"""What makes a store look as those of versions before the first release did."""


def test_the_first_format_is_one(engine: Engine, folder: Path) -> None:
    kept = {"sqlite": "PRAGMA user_version", "postgres": "SELECT number FROM format"}
    assert engine.execute(folder, kept[engine.name]) == [(1,)]
