"""Terms beside each text: what a server without indices reads instead of analysing."""

from pathlib import Path
from typing import NoReturn

import pytest

from minutebook.features.postgres.store import PostgresStore
from minutebook.record.records import Memory, Turn
from minutebook.store.sql import index_source
from minutebook.text.words import ANALYSIS, parse_query
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.store.promises import ACME, ids
from tests.store.samples import memory, turn
from tests.world import wait_until

pytestmark = pytest.mark.usefixtures("postgres")


def opened_elsewhere(folder: Path) -> PostgresStore:
    """Open the store as a server does that has no indices."""
    url = server().url((folder / "database").read_text())
    return PostgresStore(url, folder / "elsewhere", pool=2)


def test_a_server_without_indices_analyses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, folder = PostgresEngine(), tmp_path / "store"
    with engine.fresh(folder) as store:
        store.put(memory("a", "bread and wine"))
        store.put(memory("b", "rye bread"))
        store.put(memory("b", "running late"))

        def analysed(record: object) -> NoReturn:
            raise AssertionError(record)

        monkeypatch.setattr(index_source, "terms", analysed)
        other = opened_elsewhere(folder)
        assert ids(other.match(Memory, ACME, parse_query("bread"), 9)) == ["a"]
        assert ids(other.match(Memory, ACME, parse_query("run"), 9)) == ["b"]
        other.close()


def test_texts_of_an_earlier_version_are_found_and_analysed_in_the_background(
    tmp_path: Path,
) -> None:
    engine, folder = PostgresEngine(), tmp_path / "store"
    with engine.fresh(folder) as store:
        assert isinstance(store, PostgresStore)
        store.put(memory("a", "bread and wine"))
        store.put(turn("a", "bread"))
        sequence = store.sequence("acme")
        database = (folder / "database").read_text()
        for table in ("memories", "turns"):
            server().execute(f"UPDATE {table} SET terms = NULL, analysis = 1", database)
        server().execute(f"UPDATE identity SET texts = {ANALYSIS - 1}", database)
        assert store.upkeep.to_analyse() == 2
        found = store.match(Memory, ACME, parse_query("bread"), 9)
        other = opened_elsewhere(folder)
        assert other.match(Memory, ACME, parse_query("bread"), 9) == found != []
        wait_until(lambda: other.upkeep.to_analyse() == 0)
        other.close()
        later = opened_elsewhere(folder)
        assert later.match(Memory, ACME, parse_query("bread"), 9) == found
        assert ids(later.match(Turn, ACME, parse_query("bread"), 9)) == ["a"]
        assert later.sequence("acme") == sequence
        assert later.upkeep.check() == []
        later.close()


def test_a_rebuild_analyses_anew_what_stands_beside_a_text(tmp_path: Path) -> None:
    engine, folder = PostgresEngine(), tmp_path / "store"
    with engine.fresh(folder) as store:
        assert isinstance(store, PostgresStore)
        store.put(memory("a", "bread"))
        store.put(memory("b", "wine"))
        swapped = "UPDATE memories AS m SET terms = o.terms FROM memories AS o WHERE o.id <> m.id"
        server().execute(swapped, (folder / "database").read_text())
        assert ids(store.match(Memory, ACME, parse_query("bread"), 9)) == ["b"]
        store.upkeep.rebuild()
        assert ids(store.match(Memory, ACME, parse_query("bread"), 9)) == ["a"]
