"""The embedded engine keeps the protocol's promises."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.domain.errors import StoreClosed
from minutebook.domain.filters import Filter
from minutebook.domain.records import Memory
from minutebook.store.sqlite import SqliteStore
from tests.store.conformance import StoreConformance
from tests.store.samples import SPACES, memory, unit
from tests.store.small_index import small_index
from tests.store.sqlite_engine import SqliteEngine


class TestSqlite(StoreConformance):
    engine = SqliteEngine("normal")


class TestSqliteWithCodesAndFilesFromTheFirstRecordOn(StoreConformance):
    engine = SqliteEngine("normal")

    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def sizes() -> Iterator[None]:
        with small_index():
            yield


def test_a_store_that_was_closed_is_opened_again_with_all_that_it_held(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    everything = Filter(organization="acme", with_deleted=True)
    try:
        for id in ("a", "b"):
            store.put(memory(id))
            store.put_vectors(Memory, "acme", id, SPACES[0], unit(1, 0, 0, 0)[None])
            assert store.nearest(Memory, everything, SPACES[0], unit(1, 0, 0, 0), 5)
            assert [store.pid] == [os.getpid()]
            store.open()
            store.close()
            store.close()
            assert [store.pid] == [None]
            with pytest.raises(StoreClosed):
                store.count(Memory, everything)
            store.open()
        assert store.count(Memory, everything) == 2
        found = store.nearest(Memory, everything, SPACES[0], unit(1, 0, 0, 0), 5)
        assert [each.id for each in found] == ["a", "b"]
        assert store.check() == []
    finally:
        store.close()
