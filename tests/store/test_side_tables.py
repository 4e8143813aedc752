"""A store has the tables of its features, made and brought to their formats when it is opened."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from minutebook.record.errors import StoreTooNew
from minutebook.record.records import Kind, Memory
from minutebook.store.protocol import Tended
from minutebook.store.sql import side_tables
from minutebook.store.sql.side_tables import SideTable, SideTables
from minutebook.store.sql.tables import value_text
from minutebook.store.token_uses import TokenUses
from tests.features.postgres.engine import PostgresEngine
from tests.store.engine import Engine
from tests.store.samples import START, memory
from tests.store.sqlite_engine import SqliteEngine

NOTES = SideTable(
    "side_notes",
    "organization integer, kind name, id name, note words?, weight real, at instant",
    key="organization, kind, id",
    indices={"by_time": "(organization, at)"},
    goes_with=(Kind.MEMORY,),
)
FIRST = SideTables((NOTES,))
SECOND = SideTables((NOTES,), (("ALTER TABLE side_notes ADD COLUMN colour text",),))


@pytest.fixture(params=[SqliteEngine, PostgresEngine], ids=lambda of: of.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param is PostgresEngine:
        request.getfixturevalue("postgres")
    made: Engine = request.param()
    return made


@pytest.fixture
def folder(engine: Engine, tmp_path: Path) -> Iterator[Path]:
    """A store without the tables of the feature `side`."""
    place = tmp_path / "store"
    engine.make(place)
    engine.open(place).close()
    yield place
    engine.discard(place)


def enter(patch: pytest.MonkeyPatch, of: SideTables) -> None:
    """Let this process have one feature more."""
    known = {**side_tables.by_feature(), "side": of}
    patch.setattr(side_tables, "by_feature", lambda: known)


def opened(engine: Engine, folder: Path) -> Tended:
    return engine.open(folder)


def write(store: Tended, organization: str, id: str) -> None:
    with store.database.writing(organization) as (connection, number):
        connection.run(
            "INSERT INTO side_notes (organization, kind, id, note, weight, at) VALUES (?, ?, ?, ?, ?, ?)",
            (number, Kind.MEMORY, id, None, 0.5, 1 << 40),
        )


def held(store: Tended, organization: str) -> list[tuple[object, ...]]:
    with store.database.reading() as connection:
        return connection.rows(
            "SELECT kind, id, note, weight, at FROM side_notes WHERE organization = ? ORDER BY id",
            (store.database.number_of(organization),),
        )


def test_a_feature_that_is_new_to_a_store_has_its_tables_there(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(monkeypatch, FIRST)
    for id in ("a", "b"):
        with closing(opened(engine, folder)) as store:
            write(store, "acme", id)
    with closing(opened(engine, folder)) as store:
        assert [id for _, id, *_ in held(store, "acme")] == ["a", "b"]
        assert engine.faults(store) == []


def test_tables_are_brought_to_the_next_format_and_a_later_one_is_refused(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        enter(patch, FIRST)
        with closing(opened(engine, folder)) as store:
            write(store, "acme", "a")
    with monkeypatch.context() as patch:
        enter(patch, SECOND)
        with closing(opened(engine, folder)) as store:
            assert len(held(store, "acme")) == 1
        assert engine.execute(folder, "SELECT colour FROM side_notes") == [(None,)]
    with monkeypatch.context() as patch:
        enter(patch, FIRST)
        with pytest.raises(StoreTooNew, match="the tables of side have format 2"):
            engine.open(folder)
    # A version without the feature leaves its tables alone.
    with closing(opened(engine, folder)) as store:
        assert engine.faults(store) == []
    assert engine.execute(folder, "SELECT id FROM side_notes") == [("a",)]


def test_rows_go_with_the_memory_that_they_name(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(monkeypatch, FIRST)
    with closing(opened(engine, folder)) as store:
        for organization in ("acme", "zoo"):
            for id in ("a", "b"):
                store.put(memory(id, organization=organization))
                write(store, organization, id)
        store.delete(Memory, "acme", "a")
        assert [id for _, id, *_ in held(store, "acme")] == ["b"]
        assert [id for _, id, *_ in held(store, "zoo")] == ["a", "b"]


@pytest.mark.needs("migration")
def test_rows_of_organizations_are_copied_to_another_engine_in_place_of_what_was_there(
    engine: Engine, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minutebook.features.migration.rows import Transfer

    enter(monkeypatch, FIRST)
    with (
        closing(SqliteEngine().open(tmp_path / "source")) as source,
        closing(opened(engine, folder)) as store,
    ):
        for id in ("a", "b\ud800"):
            write(source, "acme", id)
        write(store, "zoo", "kept")
        write(store, "acme", "replaced")
        Transfer(store.database).copy_side_tables(["acme"], source.database)
        assert [value_text(id) for _, id, *_ in held(store, "acme")] == ["a", "b\ud800"]
        assert [id for _, id, *_ in held(store, "zoo")] == ["kept"]


def test_the_last_use_of_a_token_is_kept_and_is_no_change(engine: Engine, folder: Path) -> None:
    with closing(opened(engine, folder)) as store:
        uses = TokenUses(store.database)
        assert uses.latest() == {}
        later = START + timedelta(hours=1)
        for token, at in (("a", START), ("b", later), ("b", START), ("a", later)):
            uses.note(token, at)
        assert uses.latest() == {"a": later, "b": later}
        assert store.organizations() == []
