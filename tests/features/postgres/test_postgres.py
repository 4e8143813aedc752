"""The server engine keeps the protocol's promises."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.postgres.store import PostgresStore
from minutebook.record.errors import StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import SYSTEM_ORGANIZATION, Memory
from minutebook.store.sidecar import open_indices
from minutebook.store.token_uses import TokenUses
from minutebook.text.words import parse_query
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.store.conformance import StoreConformance
from tests.store.promises import ACME, SPACE, ids
from tests.store.samples import START, entity, memory, token, unit
from tests.store.small_index import small_index

pytestmark = pytest.mark.usefixtures("postgres")


@pytest.mark.thorough
class TestPostgres(StoreConformance):
    engine = PostgresEngine()


@pytest.mark.slow
class TestPostgresWithCodesAndFilesFromTheFirstRecordOn(StoreConformance):
    engine = PostgresEngine()

    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def sizes() -> Iterator[None]:
        with small_index():
            yield


class Postgres18Engine(PostgresEngine):
    version = 18


@pytest.mark.thorough
def test_the_latest_server_keeps_and_finds(tmp_path: Path) -> None:
    with Postgres18Engine().fresh(tmp_path / "store") as store:
        with store.transaction("acme"):
            store.put(memory("a", "bread \0\ud800"))
            store.put(entity("e", "Ana"))
            store.put_vectors(Memory, "acme", "a", SPACE, unit(1, 0, 0, 0)[None])
        store.put(memory("b", "wine"))
        store.delete(Memory, "acme", "b")
        assert store.find(Memory, ACME) == [memory("a", "bread \0\ud800")]
        assert ids(store.match(Memory, ACME, parse_query("bread"), 9)) == ["a"]
        assert ids(store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)) == ["a"]
        assert store.entities_named(ACME, ["ana"]) == ["e"]
        assert [change.id for change in store.changes("acme", 0)] == ["e", "a", "b"]
        assert Postgres18Engine().faults(store) == []


def test_a_copy_of_the_whole_store_is_refused_with_what_to_do_instead(tmp_path: Path) -> None:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        assert isinstance(store, PostgresStore)
        with (
            pytest.raises(StoreError, match="recovery to any point in time"),
            store.database.moment(),
        ):
            pass


def test_few_indices_stay_open_and_all_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_indices, "MOST", 2)
    with PostgresEngine().fresh(tmp_path / "store") as store:
        assert isinstance(store, PostgresStore)
        for name in ("a", "b", "c", "d"):
            store.put(memory(name, "bread", organization=name))
        for name in ("a", "b", "c", "d", "a", "d"):
            where = Filter(organization=name)
            assert ids(store.match(Memory, where, parse_query("bread"), 9)) == [name]
        assert len(store.upkeep.indices._open._indices) == 2


def test_who_reads_one_by_one_leaves_connections_to_read_and_write_with(tmp_path: Path) -> None:
    engine, folder = PostgresEngine(), tmp_path / "store"
    engine.make(folder)
    url = server().url((folder / "database").read_text())
    store = PostgresStore(url, folder / "index", pool=1, writer_wait=1.0)
    store.put(memory("a"))
    store.put(memory("b"))
    seen: list[str] = []
    for record in store.each(Memory, ACME, ["-id"]):
        assert store.get(Memory, "acme", record.id) == record
        with store.transaction("acme"):
            store.put(memory(f"{record.id}{record.id}"))
            assert store.count(Memory, ACME) == 3 + len(seen)
        seen.append(record.id)
    assert seen == ["b", "a"]
    with store.snapshot("acme") as moment:
        store.delete(Memory, "acme", "a")
        assert moment.count(Memory, ACME) == 4
        assert store.page(Memory, [ACME], order=["id"], limit=1) == [memory("aa")]
    store.close()
    engine.discard(folder)


def test_a_use_is_noted_while_others_write_to_the_tokens_organization(tmp_path: Path) -> None:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        with store.transaction(SYSTEM_ORGANIZATION):
            store.put(replace(token("t"), organization=SYSTEM_ORGANIZATION))
            noting = threading.Thread(target=TokenUses(store.database).note, args=("t", START))
            noting.start()
            noting.join(60)
            assert not noting.is_alive()
        assert TokenUses(store.database).latest() == {"t": START}


def test_a_fact_is_the_first_that_was_claimed_until_another_is_written(tmp_path: Path) -> None:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        assert isinstance(store, PostgresStore)
        shared = store.database.shared_values
        assert shared.read("a") is None
        assert [shared.claim("a", text) for text in ("one", "two")] == ["one", "one"]
        with suppress(KeyError), store.transaction("acme"):
            shared.write("a", "three")
            assert shared.read("a") == "three"
            raise KeyError
        assert shared.read("a") == "one"
        shared.write("a", "four")
        assert (shared.read("a"), shared.claim("a", "five")) == ("four", "four")


@pytest.mark.thorough
def test_an_index_that_differs_from_the_records_is_told_by_check_and_mended(tmp_path: Path) -> None:
    engine, folder = PostgresEngine(), tmp_path / "store"
    with engine.fresh(folder) as store:
        assert isinstance(store, PostgresStore)
        for name in ("a", "b", "c"):
            store.put(memory(name, "bread"))
            store.put_vectors(Memory, "acme", name, SPACE, unit(1, 0, 0, 0)[None])
        assert store.upkeep.check() == []
        database = (folder / "database").read_text()
        # A change that draws no sequence, as ours all do, is one that no index hears of.
        server().execute(
            "UPDATE memories SET vectors = decode('003c003c00000000', 'hex') WHERE id = 'a'",
            database,
        )
        server().execute("DELETE FROM memories WHERE id = 'b'", database)
        told = [each for each in store.upkeep.check() if "vector index" in each]
        assert len(told) == 1
        assert told[0].endswith("is wrong about 2 records")
        store.upkeep.rebuild()
        assert store.upkeep.check() == []
